// The published method beside ours: call paths by repetitions and the mean time between them; what lies together is a
// loop to it.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Loops as Data } from '../data/program';
import { Axis, Grid } from '../draw/axes';
import '../draw/canvas.css';
import type { Span } from '../draw/span';
import { linearTicks } from '../draw/ticks';
import { count, ns, percent, plural, ratio } from '../format';
import { onTheme, PALETTE } from '../palette';
import { Listing } from '../parts/Listing';
import { Panel } from '../parts/Panel';
import { SizedBox, type Size } from '../parts/SizedBox';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { select, useParam } from '../store';
import { useTheme, type Theme } from '../theme';
import type { Model } from './model';

type Point = Data['points'][number];

const LEFT_OUT = -1;
const [LEFT, BOTTOM, TOP, SIDE] = [74, 42, 8, 14];

const loopName = (loop: number) => (loop === LEFT_OUT ? 'left out' : `loop ${loop + 1}`);

const colourOf = (loop: number, theme: Theme) => onTheme(PALETTE[loop % PALETTE.length]!, theme);

export function Loops({ m, loops }: { m: Model; loops: Data }) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const [, setAt] = useParam('at', '');
  const [, setTab] = useParam('program', 'text');
  const [chosen, choose] = useState(-1);
  const points = useMemo(() => [...loops.points].sort((a, b) => b.delta - a.delta), [loops]);
  const sums = useMemo(() => {
    const of = new Map<number, Point[]>();
    for (const p of points) of.set(p.loop, [...(of.get(p.loop) ?? []), p]);
    return [...of].sort(([a], [b]) => (a === LEFT_OUT ? 1 : b === LEFT_OUT ? -1 : a - b));
  }, [points]);
  const lineOf = (p: Point) => (m.joined ? (m.ofPath.get(p.path) ?? -1) : -1);
  const pick = (i: number) => {
    choose(i);
    const line = lineOf(points[i]!);
    if (line >= 0) {
      setAt(`${m.lines[line]!.node.id}`);
      select({ line: m.lines[line]!.node.id, clusters: null });
    }
  };
  const point = points[chosen];
  const line = point ? m.lines[lineOf(point)] : undefined;
  return (
    <>
      <p class="note">
        The method of J. F. Martínez Vera, <i>Inferring programs structure from an execution trace</i> (2018), to compare: MPI calls of one path that lie together here are one loop to it. Loops that are alike in both are joined, and a call that does not happen in each trip becomes a loop of its own. The tab Program does not depend on it.
      </p>
      <Panel title="Repetitions and time between them" class="loops-plot" note={`${plural(loops.loops, 'loop')} of ${plural(points.length, 'point')}; Eps ${ratio(loops.eps)} of the range of each axis; left out: what explains less than ${percent(loops.delta)} of the run time`} tools={<SaveTools name="loops" picture={box} />}>
        {points.length === 0 ? (
          <p class="note">No MPI calls: there is nothing to draw.</p>
        ) : (
          <div ref={box}>
            <SizedBox class="loops-box">{(size) => <Plot size={size} points={points} chosen={chosen} pick={pick} theme={theme} />}</SizedBox>
          </div>
        )}
        <ul class="legend">
          {sums.map(([loop, of]) => (
            <li key={loop}>
              <span>
                <svg class="swatch" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
                  <Mark x={5} y={5} r={4} loop={loop} theme={theme} />
                </svg>
                {loopName(loop)}
                {loop === LEFT_OUT ? `: ${plural(of.length, 'point')}` : `: ${rangeOf(of.map((p) => p.repetitions))} repetitions`}
              </span>
            </li>
          ))}
        </ul>
        {point ? (
          <p role="status">
            {point.label}: {loopName(point.loop)}, {plural(point.repetitions, 'repetition')}, {ns(point.mean_ns)} between them.{' '}
            {line ? (
              <button type="button" class="link" onClick={() => setTab('text')}>
                Line of the program{line.place ? `: ${line.place}` : ''}
              </button>
            ) : null}
          </p>
        ) : null}
      </Panel>
      <Listing
        of="program"
        title="Points"
        name="points"
        note="call paths on the ranks that reach them equally often; a row selects its calls"
        sortable
        rows={points}
        chosen={(p) => p === point}
        pick={(p) => pick(points.indexOf(p))}
        empty="No MPI calls."
        fields={[
          { title: 'Call', words: true, class: 'path', show: (p) => p.label, hint: (p) => p.label, csv: 'call', value: (p) => p.label },
          { title: 'Loop', words: true, show: (p) => loopName(p.loop), csv: 'loop', value: (p) => p.loop },
          { title: 'Threads', show: (p) => count(p.ranks), csv: 'threads', value: (p) => p.ranks },
          { title: 'Repetitions', show: (p) => count(p.repetitions), csv: 'repetitions', value: (p) => p.repetitions },
          { title: 'Between', says: 'mean time between two repetitions', show: (p) => ns(p.mean_ns), csv: 'mean_ns', value: (p) => p.mean_ns },
          { title: 'Explains', says: 'δ: repetitions times the time between them, over the run time', show: (p) => percent(p.delta), csv: 'delta', value: (p) => p.delta },
        ]}
      />
    </>
  );
}

function rangeOf(values: readonly number[]): string {
  const [least, most] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), 0)];
  return least === most ? count(most) : `${count(least)} to ${count(most)}`;
}

// Mark has a shape besides its colour, so that colours that are alike, or not seen, can be distinguished.
function Mark({ x, y, r, loop, theme }: { x: number; y: number; r: number; loop: number; theme: Theme }) {
  if (loop === LEFT_OUT) return <circle class="left-out" cx={x} cy={y} r={r * 0.8} />;
  const fill = colourOf(loop, theme);
  switch (loop % 4) {
    case 1:
      return <rect x={x - r * 0.9} y={y - r * 0.9} width={r * 1.8} height={r * 1.8} fill={fill} />;
    case 2:
      return <path d={`M${x},${y - r * 1.15}L${x + r * 1.1},${y + r * 0.9}H${x - r * 1.1}Z`} fill={fill} />;
    case 3:
      return <path d={`M${x},${y - r * 1.2}L${x + r * 1.2},${y}L${x},${y + r * 1.2}L${x - r * 1.2},${y}Z`} fill={fill} />;
    default:
      return <circle cx={x} cy={y} r={r} fill={fill} />;
  }
}

interface PlotProps {
  readonly size: Size;
  readonly points: readonly Point[];
  readonly chosen: number;
  readonly pick: (i: number) => void;
  readonly theme: Theme;
}

function spanOf(values: readonly number[]): Span {
  const [from, to] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
  const room = (to - from) * 0.05 || Math.abs(from) * 0.05 || 1;
  return { from: from - room, to: to + room };
}

const tipOf = (p: Point): Omit<Tip, 'x' | 'y'> => ({
  title: p.label,
  rows: [['loop', loopName(p.loop)], ['repetitions', count(p.repetitions)], ['time between them', ns(p.mean_ns)], ['threads', count(p.ranks)], ['explains', percent(p.delta)]],
  says: ['Click: its calls, in all views.'],
});

function Plot({ size, points, chosen, pick, theme }: PlotProps) {
  const [w, h] = [Math.max(20, size.width - LEFT - SIDE), Math.max(20, size.height - TOP - BOTTOM)];
  const [inX, inY] = useMemo((): [Span, Span] => [spanOf(points.map((p) => p.repetitions)), spanOf(points.map((p) => p.mean_ns))], [points]);
  const at = (p: Point): [number, number] => [((p.repetitions - inX.from) / (inX.to - inX.from)) * w, (1 - (p.mean_ns - inY.from) / (inY.to - inY.from)) * h];
  const [tx, ty] = [linearTicks(inX, w, 64, ''), linearTicks(inY, h, 26, 'ns')];
  // In the order of x, as arrow keys go.
  const order = useMemo(() => points.map((_, i) => i).sort((a, b) => points[a]!.repetitions - points[b]!.repetitions || points[a]!.mean_ns - points[b]!.mean_ns), [points]);
  const press = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    const k = order.indexOf(chosen);
    pick(order[k < 0 ? 0 : Math.max(0, Math.min(order.length - 1, k + step))]!);
    e.preventDefault();
  };
  return (
    <svg class="chart loops-chart" width={size.width} height={size.height} tabIndex={0} role="application" aria-label="Call paths by repetitions and time between them. Arrow keys go from point to point." onKeyDown={press}>
      <g transform={`translate(${LEFT},${TOP})`}>
        <Grid x={tx} y={ty} inX={inX} inY={inY} width={w} height={h} />
        <Axis side="left" ticks={ty} span={inY} pixels={h} title="time between" />
        <g transform={`translate(0,${h})`}>
          <Axis side="bottom" ticks={tx} span={inX} pixels={w} title="repetitions" />
        </g>
        {points.map((p, i) => {
          const [x, y] = at(p);
          return (
            <g key={i} class="point" data-loop={p.loop} data-path={p.path} onClick={() => pick(i)} onPointerMove={(e) => showTip({ ...tipOf(p), x: e.clientX, y: e.clientY })} onPointerLeave={hideTip}>
              <circle class="reach" cx={x} cy={y} r="9" />
              <Mark x={x} y={y} r={5} loop={p.loop} theme={theme} />
            </g>
          );
        })}
        {points[chosen] ? <circle class="spot" cx={at(points[chosen])[0]} cy={at(points[chosen])[1]} r="9" /> : null}
      </g>
    </svg>
  );
}
