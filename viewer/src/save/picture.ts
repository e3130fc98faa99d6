// Pictures of what a view shows: canvases and SVG of one box, as PNG or as one SVG.

// A Layer is a canvas or an <svg> of the view; they lie over each other as on the page.
type Layer = HTMLCanvasElement | SVGSVGElement;

function layersOf(box: Element): Layer[] {
  return [...box.querySelectorAll('canvas, svg')].filter(
    (e): e is Layer => (e instanceof HTMLCanvasElement || e instanceof SVGSVGElement) && !e.closest('[data-no-picture]') && e.getBoundingClientRect().width > 0,
  );
}

export async function toPNG(box: Element): Promise<Blob> {
  const scale = Math.max(2, devicePixelRatio);
  const svg = toSVG(box);
  const { width, height } = box.getBoundingClientRect();
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser draws no pictures');
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the browser made no picture'))), 'image/png'),
  );
}

// toSVG makes one SVG: vectors remain vectors, canvases become images in it.
export function toSVG(box: Element): string {
  const outer = box.getBoundingClientRect();
  const root = element('svg', { width: outer.width, height: outer.height, viewBox: `0 0 ${outer.width} ${outer.height}` });
  const background = getComputedStyle(document.documentElement).getPropertyValue('--paper').trim() || '#ffffff';
  root.append(element('rect', { width: outer.width, height: outer.height, fill: background }));
  for (const layer of layersOf(box)) {
    const r = layer.getBoundingClientRect();
    const at = { x: r.left - outer.left, y: r.top - outer.top, width: r.width, height: r.height };
    if (layer instanceof HTMLCanvasElement) {
      root.append(element('image', { ...at, href: layer.toDataURL('image/png') }));
      continue;
    }
    const copy = withStyles(layer);
    for (const [name, value] of Object.entries(at)) copy.setAttribute(name, `${value}`);
    root.append(copy);
  }
  return new XMLSerializer().serializeToString(root);
}

const STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'fill-opacity', 'stroke-opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'visibility', 'display'];

// A picture has no style sheet: what the page's one says is written into each element.
function withStyles(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((e, i) => {
    const said = getComputedStyle(e);
    const target = to[i];
    if (!(target instanceof SVGElement)) return;
    target.removeAttribute('class');
    for (const name of STYLES) target.style.setProperty(name, said.getPropertyValue(name));
  });
  return copy;
}

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, `${value}`);
  return e;
}
