// The published method beside ours: call paths by repetitions and the mean time between them; what lies together is a
// loop to it.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Loops as Data } from '../data/program';
import { Axis, Grid } from '../draw/axes';
import '../draw/canvas.css';
import type { Span } from '../draw/span';
import { linearTicks, logTicks, type Tick } from '../draw/ticks';
import { count, ns, percent, plural, ratio } from '../format';
import { onTheme, PALETTE } from '../palette';
import { Listing } from '../parts/Listing';
import { Panel } from '../parts/Panel';
import { SizedBox, type Size } from '../parts/SizedBox';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { select, useParam } from '../store';
import { useTheme, type Theme } from '../theme';
import { sameIn, type Model } from './model';

type Point = Data['points'][number] & { readonly label: string };

const LEFT_OUT = -1;
const [LEFT, BOTTOM, TOP, SIDE] = [74, 42, 8, 14];

const loopName = (loop: number) => (loop === LEFT_OUT ? 'left out' : `loop ${loop + 1}`);

const colourOf = (loop: number, theme: Theme) => onTheme(PALETTE[loop % PALETTE.length]!, theme);

export function Loops({ m, main, loops }: { m: Model; main: Model; loops: Data }) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const [, setAt] = useParam('at', '');
  const [chosen, choose] = useState(-1);
  const points = useMemo(() => loops.points.map((p) => ({ ...p, label: labelOf(main, p.path) })).sort((a, b) => b.delta - a.delta), [main, loops]);
  const sums = useMemo(() => {
    const of = new Map<number, Point[]>();
    for (const p of points) of.set(p.loop, [...(of.get(p.loop) ?? []), p]);
    return [...of].sort(([a], [b]) => (a === LEFT_OUT ? 1 : b === LEFT_OUT ? -1 : a - b));
  }, [points]);
  const lineOf = (p: Point) => (m.joined ? (m.ofPath.get(p.path) ?? -1) : -1);
  const pick = (i: number) => {
    choose(i);
    const line = lineOf(points[i]!);
    if (line >= 0) setAt(`${m.lines[line]!.node.id}`);
    // What was left out is in the program itself alone.
    const own = main.lines[line >= 0 ? sameIn(main, m, line) : main.joined ? (main.ofPath.get(points[i]!.path) ?? -1) : -1];
    if (own) select({ line: own.node.id, clusters: null });
  };
  const point = points[chosen];
  const line = point ? m.lines[lineOf(point)] : undefined;
  return (
    <>
      <p class="note">
        The method of J. F. Martínez Vera, <i>Inferring programs structure from an execution trace</i> (2018), to compare: a point is a call path to MPI, on the threads that reach it equally often; points that lie together are one loop to it. Loops that are alike in both are joined, and a call that does not happen in each trip becomes a loop of its own. A click on a point shows its line below, and selects its calls in all views.
      </p>
      <Panel title="Repetitions and time between them" class="loops-plot" note={`${plural(loops.loops, 'loop')} of ${plural(points.length, 'point')}; points within ${ratio(loops.eps)} of each other, or joined by others, are one loop; each axis is scaled to its range (DBSCAN, Eps); left out: what explains less than ${percent(loops.delta)} of the run time`} tools={<SaveTools name="loops" picture={box} />}>
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
            {line ? `Its line${line.place ? `, ${line.place},` : ''} is marked below.` : point.loop === LEFT_OUT ? 'It is not in the text below.' : ''}
          </p>
        ) : null}
        {loops.once > 0 ? <p class="note">{plural(loops.once, 'call path')} reached once: no time between, and no point.</p> : null}
        {loops.joined ? <p class="note">Ranks with other repetitions are one point each, for lack of room in program.json.</p> : null}
        {loops.others > 0 ? <p class="note">{plural(loops.others, 'point')} that explain less are not kept, for lack of room in program.json.</p> : null}
        <details class="points">
          <summary>All points</summary>
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
        </details>
      </Panel>
    </>
  );
}

// labelOf names a call path by its line of the program.
function labelOf(m: Model, path: number): string {
  const at = m.ofPath.get(path) ?? -1;
  const line = m.lines[at];
  if (!line) return `call path ${path}`;
  if (line.place) return `${line.node.function}@${line.place}`;
  let up = line.up;
  while (up >= 0 && m.lines[up]!.node.kind !== 'call') up = m.lines[up]!.up;
  return up >= 0 ? `${line.node.function} in ${m.lines[up]!.node.function}` : line.node.function;
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

// LOG is from which ratio of the largest value to the least above 0 an axis is logarithmic; what is 0 stands at its
// begin.
const LOG = 50;

interface Scale {
  readonly span: Span; // of coordinates
  readonly at: (value: number) => number; // coordinate
  readonly ticks: (pixels: number, room: number, unit: string) => Tick[];
  readonly log: boolean;
}

function scaleOf(values: readonly number[]): Scale {
  const above = values.filter((v) => v > 0);
  const [least, most] = [above.reduce((a, b) => Math.min(a, b), Infinity), above.reduce((a, b) => Math.max(a, b), 0)];
  if (above.length > 0 && most >= LOG * least) {
    const zero = above.length < values.length;
    const room = Math.log(most / least) * 0.05;
    const span = { from: Math.log(least) - room - (zero ? 2 * room : 0), to: Math.log(most) + room };
    const ticks = (pixels: number, distance: number, unit: string) => {
      const marks = logTicks(span, pixels, distance, unit).filter((t) => !zero || t.at >= Math.log(least) - room);
      return zero ? [{ at: span.from + room / 2, label: unit === 'ns' ? '0 s' : '0' }, ...marks] : marks;
    };
    return { span, at: (v) => (v > 0 ? Math.log(v) : span.from + room / 2), ticks, log: true };
  }
  const [from, to] = [values.reduce((a, b) => Math.min(a, b), Infinity), most];
  const room = (to - from) * 0.05 || Math.abs(from) * 0.05 || 1;
  const span = { from: from - room, to: to + room };
  return { span, at: (v) => v, ticks: (pixels, distance, unit) => linearTicks(span, pixels, distance, unit).filter((t) => t.at >= 0), log: false };
}

const tipOf = (p: Point): Omit<Tip, 'x' | 'y'> => ({
  title: p.label,
  rows: [['loop', loopName(p.loop)], ['repetitions', count(p.repetitions)], ['time between them', ns(p.mean_ns)], ['threads', count(p.ranks)], ['explains', percent(p.delta)]],
  says: ['Click: its line below, and its calls in all views.'],
});

function Plot({ size, points, chosen, pick, theme }: PlotProps) {
  const [w, h] = [Math.max(20, size.width - LEFT - SIDE), Math.max(20, size.height - TOP - BOTTOM)];
  const [sx, sy] = useMemo((): [Scale, Scale] => [scaleOf(points.map((p) => p.repetitions)), scaleOf(points.map((p) => p.mean_ns))], [points]);
  const [inX, inY] = [sx.span, sy.span];
  const at = (p: Point): [number, number] => [((sx.at(p.repetitions) - inX.from) / (inX.to - inX.from)) * w, (1 - (sy.at(p.mean_ns) - inY.from) / (inY.to - inY.from)) * h];
  const [tx, ty] = [sx.ticks(w, 64, ''), sy.ticks(h, 26, 'ns')];
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
        <Axis side="left" ticks={ty} span={inY} pixels={h} title={sy.log ? 'time between (log)' : 'time between'} />
        <g transform={`translate(0,${h})`}>
          <Axis side="bottom" ticks={tx} span={inX} pixels={w} title={sx.log ? 'repetitions (log)' : 'repetitions'} />
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
