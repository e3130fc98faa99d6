// Points by two quantities, on axes that may be logarithmic, with lines through them.
import { useMemo, useRef, useState } from 'preact/hooks';
import { Axis, Grid } from '../draw/axes';
import { useGestures, type At } from '../draw/gestures';
import { length, type Span } from '../draw/span';
import { css, sized, useFrame, usePixelRatio } from '../draw/surface';
import { linearTicks, logTicks } from '../draw/ticks';
import { SizedBox, type Size } from '../parts/SizedBox';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { useTheme } from '../theme';

export interface AxisOf {
  readonly title: string;
  readonly unit: string; // ns, B or none
  readonly log: boolean;
}

export interface Dots {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly kind: Uint8Array; // 0 filled, 1 a ring, in another colour
}

export interface Curve {
  readonly dashed: boolean;
  readonly y: (x: number) => number;
}

interface Props {
  readonly name: string;
  readonly dots: Dots;
  readonly x: AxisOf;
  readonly y: AxisOf;
  readonly curves?: readonly Curve[];
  readonly bands?: readonly Span[]; // of x
  readonly tell: (i: number) => Omit<Tip, 'x' | 'y'>;
  readonly pick: (i: number) => void;
}

const [LEFT, BOTTOM, TOP, SIDE] = [74, 42, 8, 14];
const NEAR = 12; // px within which a pointer finds a point
const LEAST_BYTES = 0.5; // where a logarithmic axis of sizes has messages of 0 bytes

export function DotsPlot(p: Props) {
  return <SizedBox class="dots-box">{(size) => <Plot {...p} size={size} />}</SizedBox>;
}

const onAxis = (v: number, a: AxisOf) => (a.log ? Math.log(a.unit === 'B' ? Math.max(v, LEAST_BYTES) : v) : v);

// onBoth lists the points that have a place.
function onBoth(x: Float64Array, y: Float64Array): Uint32Array {
  const drawn = new Uint32Array(x.length);
  let n = 0;
  for (let i = 0; i < x.length; i++) if (Number.isFinite(x[i]) && Number.isFinite(y[i])) drawn[n++] = i;
  return drawn.subarray(0, n);
}

function spanOf(values: Float64Array, least: number): Span {
  let [from, to] = [Infinity, -Infinity];
  for (const v of values) {
    if (!Number.isFinite(v)) continue;
    from = Math.min(from, v);
    to = Math.max(to, v);
  }
  if (!(from <= to)) return { from: 0, to: 1 };
  const room = Math.max(0.05 * (to - from), least);
  return { from: from - room, to: to + room };
}

function Plot({ name, dots, x: ax, y: ay, curves = [], bands = [], tell, pick, size }: Props & { size: Size }) {
  const theme = useTheme();
  const ratio = usePixelRatio();
  const canvas = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const [w, h] = [Math.max(20, size.width - LEFT - SIDE), Math.max(20, size.height - TOP - BOTTOM)];
  const px = useMemo(() => dots.x.map((v) => onAxis(v, ax)), [dots, ax.log, ax.unit]);
  const py = useMemo(() => dots.y.map((v) => onAxis(v, ay)), [dots, ay.log, ay.unit]);
  const inX = useMemo(() => spanOf(px, ax.log ? 0.3 : 1), [px, ax.log]);
  const inY = useMemo(() => {
    // The lines are in view too.
    const ends = curves.flatMap((c) => [inX.from, inX.to].map((u) => onAxis(c.y(ax.log ? Math.exp(u) : u), ay)));
    const all = new Float64Array(py.length + ends.length);
    all.set(py);
    all.set(ends, py.length);
    return spanOf(all, ay.log ? 0.3 : 1);
  }, [py, ay.log, ax.log, curves, inX]);
  const drawn = useMemo(() => onBoth(px, py), [px, py]);
  const [scaleX, scaleY] = [w / length(inX), h / length(inY)];
  const place = (i: number): At => ({ x: (px[i]! - inX.from) * scaleX, y: (inY.to - py[i]!) * scaleY });
  useFrame(() => {
    if (!canvas.current) return;
    const context = sized(canvas.current, Math.round(w * ratio), Math.round(h * ratio));
    context.scale(ratio, ratio);
    const radius = drawn.length > 5000 ? 1.2 : drawn.length > 500 ? 2 : 3.2;
    context.globalAlpha = drawn.length > 5000 ? 0.5 : 0.85;
    context.lineWidth = 1.3;
    for (const kind of [0, 1]) {
      context.fillStyle = context.strokeStyle = css(kind === 0 ? '--accent' : '--warn');
      for (const i of drawn) {
        if (dots.kind[i] !== kind) continue;
        if (radius < 2) {
          context.fillRect((px[i]! - inX.from) * scaleX - radius, (inY.to - py[i]!) * scaleY - radius, 2 * radius, 2 * radius);
          continue;
        }
        const to = place(i);
        context.beginPath();
        context.arc(to.x, to.y, radius, 0, 2 * Math.PI);
        if (kind === 0) context.fill();
        else context.stroke();
      }
    }
    context.globalAlpha = 1;
    context.lineWidth = 1.6;
    for (const { dashed, y } of curves) {
      context.strokeStyle = css('--ink');
      context.setLineDash(dashed ? [5, 4] : []);
      context.beginPath();
      for (let k = 0; k <= 100; k++) {
        const u = inX.from + (length(inX) * k) / 100;
        const v = onAxis(y(ax.log ? Math.exp(u) : u), ay);
        context.lineTo((k / 100) * w, (1 - (v - inY.from) / length(inY)) * h);
      }
      context.stroke();
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }, [dots, curves, w, h, ratio, theme, inX, inY, drawn]);
  const nearest = (p: At) => {
    let best = -1;
    let least = NEAR * NEAR;
    for (const i of drawn) {
      const [x, y] = [(px[i]! - inX.from) * scaleX - p.x, (inY.to - py[i]!) * scaleY - p.y];
      if (x * x + y * y >= least) continue;
      best = i;
      least = x * x + y * y;
    }
    return best;
  };
  useGestures(area, {
    drag: () => undefined,
    cancel: () => undefined,
    click: (p) => {
      const i = nearest(p);
      if (i >= 0) pick(i);
    },
    double: () => undefined,
    wheel: (_, __, e) => area.current?.closest('main')?.scrollBy(0, e.deltaY),
    hover: (p, e) => {
      const i = p ? nearest(p) : -1;
      if (i < 0) hideTip();
      else showTip({ ...tell(i), x: e.clientX, y: e.clientY });
    },
  });
  // beside gives the next point in the order of x, and of those alike in their own; the first where there is none yet.
  const beside = (step: 1 | -1): number => {
    const after = (i: number, k: number) => step * (px[i]! - px[k]! || i - k) > 0;
    let best = -1;
    for (const i of drawn) {
      if (at < 0 ? best < 0 || px[i]! < px[best]! : after(i, at) && (best < 0 || after(best, i))) best = i;
    }
    return best < 0 ? at : best;
  };
  const press = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (step && drawn.length > 0) setAt(beside(step));
    else if (e.key === 'Enter' && at >= 0) pick(at);
    else return;
    e.preventDefault();
  };
  const ticks = (a: AxisOf, span: Span, pixels: number, room: number) => (a.log ? logTicks(span, pixels, room, a.unit) : linearTicks(span, pixels, room, a.unit));
  const [tx, ty] = [ticks(ax, inX, w, 64), ticks(ay, inY, h, 26)];
  const now = at >= 0 && at < dots.x.length ? tell(at) : null;
  const mark = now ? place(at) : null;
  return (
    <div class="dots" style={{ width: `${size.width}px`, height: `${size.height}px` }}>
      <svg class="chart" width={size.width} height={size.height} aria-hidden="true">
        <g transform={`translate(${LEFT},${TOP})`}>
          {bands.map((b) => {
            const [from, to] = [Math.max(b.from, inX.from), Math.min(b.to, inX.to)];
            return to > from ? <rect key={b.from} class="band" x={((from - inX.from) / length(inX)) * w} width={((to - from) / length(inX)) * w} height={h} /> : null;
          })}
          <Grid x={tx} y={ty} inX={inX} inY={inY} width={w} height={h} />
          <Axis side="left" ticks={ty} span={inY} pixels={h} title={ay.title} />
          <g transform={`translate(0,${h})`}>
            <Axis side="bottom" ticks={tx} span={inX} pixels={w} title={ax.title} />
          </g>
        </g>
      </svg>
      <canvas ref={canvas} aria-hidden="true" style={{ left: `${LEFT}px`, top: `${TOP}px`, width: `${w}px`, height: `${h}px` }} />
      <div ref={area} class="pairs-area" tabIndex={0} role="application" aria-label={`${name}. Arrow keys go from point to point, Enter selects.`} style={{ left: `${LEFT}px`, top: `${TOP}px`, width: `${w}px`, height: `${h}px` }} onKeyDown={press} onBlur={() => setAt(-1)}>
        {mark ? <span class="spot" style={{ left: `${mark.x - 6}px`, top: `${mark.y - 6}px` }} /> : null}
      </div>
      <span class="hidden" role="status">
        {now ? `${now.title ?? ''}: ${[...(now.rows ?? []).map((r) => r.join(' ')), ...(now.says ?? [])].join(', ')}` : ''}
      </span>
    </div>
  );
}
