// Burst space with its axes, and what pointer, wheel and keys do to it.
import { useRef, useState } from 'preact/hooks';
import { MISSING } from '../data/clusters';
import { usePack } from '../data/context';
import type { Levels } from '../data/levels';
import { Axis, Grid } from '../draw/axes';
import { burstRows, burstTitle } from '../draw/burst';
import { useGestures, type At } from '../draw/gestures';
import { length, moved, zoomed, type Span } from '../draw/span';
import { linearTicks, logTicks } from '../draw/ticks';
import { plural } from '../format';
import { useKeys } from '../parts/keys';
import { hideTip, showTip } from '../parts/tooltip';
import { lineOfBurst, modelOf } from '../program/model';
import { toggleCluster, useParam } from '../store';
import type { Shown } from './dimensions';
import { nearest, type Polygon } from './lasso';
import { Points } from './Points';
import { BOTTOM, LEFT, RIGHT, TOP } from './view';

export interface PlotProps {
  size: { width: number; height: number };
  dimensions: [x: Shown, y: Shown];
  x: Float64Array;
  y: Float64Array;
  order: Uint32Array;
  whole: [x: Span, y: Span];
  view: [x: Span, y: Span];
  setView: (x: Span, y: Span) => void;
  levels: Levels;
  lasso: Polygon | null;
  inLasso: Uint8Array | null;
  setLasso: (lasso: Polygon | null) => void;
}

const REACH = 10; // pixels beside a point at which it is still meant

export function Plot({ size, dimensions, x, y, order, whole, view, setView, levels, lasso, inLasso, setLasso }: PlotProps) {
  const pack = usePack();
  const box = useRef<HTMLDivElement>(null);
  const [, markLine] = useParam('at', '');
  const [drawing, setDrawing] = useState<At[] | null>(null);
  const start = useRef<[Span, Span] | null>(null);
  const [width, height] = [Math.max(50, size.width - LEFT - RIGHT), Math.max(50, size.height - TOP - BOTTOM)];
  const [inX, inY] = view;
  const xAt = (px: number) => inX.from + ((px - LEFT) / width) * length(inX);
  const yAt = (py: number) => inY.to - ((py - TOP) / height) * length(inY);
  const pxOf = (v: number) => LEFT + ((v - inX.from) / length(inX)) * width;
  const pyOf = (v: number) => TOP + ((inY.to - v) / length(inY)) * height;
  const under = (at: At) => nearest(x, y, xAt(at.x), yAt(at.y), length(inX) / width, length(inY) / height, REACH);
  const zoom = (factor: number, atX: number, atY: number, axes: 'x' | 'y' | 'both' = 'both') =>
    setView(
      axes === 'y' ? inX : zoomed(inX, atX, factor, whole[0], length(whole[0]) * 1e-9),
      axes === 'x' ? inY : zoomed(inY, atY, factor, whole[1], length(whole[1]) * 1e-9),
    );
  const move = (partX: number, partY: number) => setView(moved(inX, partX, whole[0]), moved(inY, partY, whole[1]));

  useGestures(box, {
    drag: (drag, done) => {
      hideTip();
      if (drag.pan) {
        start.current ??= [inX, inY];
        const [sx, sy] = start.current;
        setView(moved(sx, (drag.from.x - drag.to.x) / width, whole[0]), moved(sy, (drag.to.y - drag.from.y) / height, whole[1]));
        if (done) start.current = null;
        return;
      }
      setDrawing(done ? null : [...drag.path]);
      if (done && drag.path.length > 2) setLasso(drag.path.map((p) => [xAt(p.x), yAt(p.y)]));
    },
    cancel: () => {
      start.current = null;
      setDrawing(null);
    },
    click: (at, more) => {
      const row = under(at);
      const cluster = row < 0 ? null : pack.column('points.cluster')[row];
      const line = row < 0 ? undefined : modelOf(pack)?.lines[lineOfBurst(pack, row)];
      if (line) markLine(`${line.node.id}`); // where the view Program begins
      if (cluster != null) toggleCluster(cluster, !more);
      else if (lasso) setLasso(null);
    },
    double: (at) => zoom(1 / 4, xAt(at.x), yAt(at.y)),
    wheel: (at, turn, event) => {
      const [px, py] = [Math.max(LEFT, at.x), Math.min(TOP + height, at.y)];
      const axes = event.shiftKey || at.y > TOP + height ? 'x' : event.ctrlKey || at.x < LEFT ? 'y' : 'both';
      zoom(1.2 ** (turn.y || turn.x), xAt(px), yAt(py), axes);
    },
    hover: (at, event) => {
      const row = at ? under(at) : -1;
      if (row >= 0) showTip({ x: event.clientX, y: event.clientY, title: burstTitle(pack, row), cluster: pack.column('points.cluster')[row] ?? MISSING, rows: burstRows(pack, row) });
      else hideTip();
    },
  });

  const act = (key: string): boolean => {
    const [middleX, middleY] = [(inX.from + inX.to) / 2, (inY.from + inY.to) / 2];
    const actions: Record<string, () => void> = {
      w: () => zoom(1 / 1.5, middleX, middleY),
      s: () => zoom(1.5, middleX, middleY),
      a: () => move(-0.2, 0),
      d: () => move(0.2, 0),
      ArrowLeft: () => move(-0.2, 0),
      ArrowRight: () => move(0.2, 0),
      ArrowUp: () => move(0, 0.2),
      ArrowDown: () => move(0, -0.2),
      '0': () => setView(...whole),
      l: () => setLasso([[inX.from, inY.from], [inX.to, inY.from], [inX.to, inY.to], [inX.from, inY.to]]),
      ...(lasso ? { Escape: () => setLasso(null) } : {}),
    };
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]!();
    return true;
  };
  useKeys((e) => act(e.key), { first: true }); // Escape lifts the lasso before the page lifts the selection

  const ticks = (s: Shown, span: Span, pixels: number, room: number) => (s.scale === 'log' ? logTicks(span, pixels, room, s.unit) : linearTicks(span, pixels, room, s.unit));
  const ticksX = ticks(dimensions[0], inX, width, 64);
  const ticksY = ticks(dimensions[1], inY, height, 34);
  const title = (s: Shown) => `${s.name}${s.unit && s.unit !== 'ns' ? ` (${s.unit})` : ''}${s.scale === 'log' ? ', logarithmic' : ''}`;
  const outline = drawing ?? lasso?.map(([vx, vy]) => ({ x: pxOf(vx), y: pyOf(vy) }));
  return (
    <div
      ref={box}
      class="space-plot"
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
      tabIndex={0}
      role="application"
      aria-roledescription="scatter plot"
      aria-label={`${plural(order.length, 'burst')} by ${dimensions[0].name} and ${dimensions[1].name}. w and s zoom, arrow keys move, l takes all that is in view, question mark lists all keys.`}
    >
      <svg width={size.width} height={size.height} aria-hidden="true">
        <g transform={`translate(${LEFT},${TOP})`}>
          <Grid x={ticksX} y={ticksY} inX={inX} inY={inY} width={width} height={height} />
        </g>
      </svg>
      <Points x={x} y={y} order={order} inX={inX} inY={inY} width={width} height={height} levels={levels} inside={inLasso} />
      <svg width={size.width} height={size.height} aria-hidden="true">
        <g transform={`translate(${LEFT},${TOP + height})`}>
          <Axis side="bottom" ticks={ticksX} span={inX} pixels={width} title={title(dimensions[0])} />
        </g>
        <g transform={`translate(${LEFT},${TOP})`}>
          <Axis side="left" ticks={ticksY} span={inY} pixels={height} title={title(dimensions[1])} />
        </g>
        <clipPath id="space-points">
          <rect x={LEFT} y={TOP} width={width} height={height} />
        </clipPath>
        {outline ? <polygon class="lasso" clip-path="url(#space-points)" points={outline.map((p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`).join(' ')} /> : null}
      </svg>
    </div>
  );
}

