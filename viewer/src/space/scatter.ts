// Points by WebGL 2. Their places lie on the card as two floats each axis, what one float leaves over in the second, so
// that zooming far in does not make them jump.

import type { Span } from '../draw/span';

const vertex = `#version 300 es
layout(location = 0) in vec2 high;
layout(location = 1) in vec2 low;
layout(location = 2) in vec4 fill;
layout(location = 3) in float lit;
uniform vec4 origin; // high x, high y, low x, low y of the view's corner
uniform vec2 scale;
uniform float size;
uniform float pass;
out vec4 colour;
out float hollow;
void main() {
  vec2 at = ((high - origin.xy) + (low - origin.zw)) * scale * 2.0 - 1.0;
  gl_Position = mod(lit, 2.0) == pass ? vec4(at, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size;
  colour = fill;
  hollow = step(2.0, lit);
}`;

const fragment = `#version 300 es
precision mediump float;
in vec4 colour;
in float hollow;
uniform float diameter;
uniform float alpha;
out vec4 pixel;
void main() {
  vec2 from = gl_PointCoord - 0.5;
  float edge = diameter > 0.0 ? clamp((0.5 - length(from)) * diameter, 0.0, 1.0) : 1.0; // a pixel wide
  if (hollow > 0.5 && diameter > 0.0) edge *= clamp((length(from) - 0.28) * diameter, 0.0, 1.0); // a ring
  float a = colour.a * alpha * edge;
  pixel = vec4(colour.rgb * a, a);
}`;

export interface View {
  x: Span;
  y: Span;
  points: number; // how many of the order to draw
  size: number; // of a point, device pixels
  alpha: number;
}

export class Scatter {
  private gl: WebGL2RenderingContext;
  private program: WebGLProgram;
  private buffers: WebGLBuffer[];
  private anyDim = false;

  // The canvas has no context where neither a card nor the browser's own drawing is there: an error says so.
  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext('webgl2', { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error('This browser offers no WebGL 2, which burst space is drawn with.');
    this.gl = gl;
    this.program = link(gl);
    const attributes = [[2, gl.FLOAT], [2, gl.FLOAT], [4, gl.UNSIGNED_BYTE], [1, gl.UNSIGNED_BYTE]] as const;
    this.buffers = attributes.map(([size, type], location) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, type, type === gl.UNSIGNED_BYTE && size > 1, 0, 0);
      return buffer;
    });
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  places(x: Float64Array, y: Float64Array, order: Uint32Array) {
    const high = new Float32Array(2 * order.length);
    const low = new Float32Array(2 * order.length);
    order.forEach((row, k) => {
      high[2 * k] = x[row]!;
      high[2 * k + 1] = y[row]!;
      low[2 * k] = x[row]! - high[2 * k]!;
      low[2 * k + 1] = y[row]! - high[2 * k + 1]!;
    });
    this.fill(0, high);
    this.fill(1, low);
  }

  // colours takes red, green, blue and alpha of each point of the order, and whether it is selected: 1, 3 if it is
  // hollow, or 0. Those that are lie over those that are not.
  colours(rgba: Uint8Array<ArrayBuffer>, lit: Uint8Array<ArrayBuffer>) {
    this.anyDim = lit.includes(0);
    this.fill(2, rgba);
    this.fill(3, lit);
  }

  draw(view: View) {
    const { gl, program } = this;
    const at = (name: string) => gl.getUniformLocation(program, name);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(program);
    const [hx, hy] = [Math.fround(view.x.from), Math.fround(view.y.from)];
    gl.uniform4f(at('origin'), hx, hy, view.x.from - hx, view.y.from - hy);
    gl.uniform2f(at('scale'), 1 / (view.x.to - view.x.from), 1 / (view.y.to - view.y.from));
    gl.uniform1f(at('size'), view.size);
    gl.uniform1f(at('diameter'), view.size > 3 ? view.size : 0); // smaller ones are squares
    gl.uniform1f(at('alpha'), view.alpha);
    for (const pass of this.anyDim ? [0, 1] : [1]) {
      gl.uniform1f(at('pass'), pass);
      gl.drawArrays(gl.POINTS, 0, view.points);
    }
  }

  free() {
    this.buffers.forEach((b) => this.gl.deleteBuffer(b));
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  private fill(location: number, data: Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[location]!);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW);
  }
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`WebGL 2 refused the points' program: ${gl.getProgramInfoLog(program) ?? ''}`);
  return program;
}
