// What each instance of a phase took: mean of the threads, and from the least to the most.
import { useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadName } from '../data/names';
import type { InstanceSeries } from '../data/profile';
import { Axis, Grid } from '../draw/axes';
import { probe } from '../draw/probe';
import { linearTicks } from '../draw/ticks';
import { count, ns, plural, ratio } from '../format';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { goTo, select, useParam } from '../store';
import { isTimed, keptOf, NOT_KEPT, ownerName, ownerOf, perPixel, pointsOf, timeOf, whatName, whatOf, type Point } from './instances';

const [LEFT, BOTTOM, TOP, RIGHT] = [72, 42, 8, 14];

const PROGRAM = '\\'; // in the address, where an empty text is none; no path is this
const keyOf = (s: InstanceSeries) => ownerOf(s) || PROGRAM;

const nameOf = (p: Point) => (p.first === p.last ? `instance ${count(p.first)}` : `instances ${count(p.first)} to ${count(p.last)}`);

interface Props {
  readonly owner: string; // of the phase that is selected, unless another is chosen here
  readonly what: string; // likewise
}

export function Instances({ owner: wanted, what: wantedWhat }: Props) {
  const pack = usePack();
  const p = pack.json.profile;
  const box = useRef<HTMLDivElement>(null);
  const all = p?.instances ?? [];
  const owners = useMemo(() => [...new Map(all.map((s) => [ownerOf(s), s])).values()], [all]);
  const [chosen, choose] = useParam('instances', '');
  const [said, setWhat] = useParam('what', '');
  const busiest = useMemo(() => owners.reduce<InstanceSeries | null>((a, b) => (a && a.of >= b.of ? a : b), null), [owners]);
  const owner = owners.find((s) => keyOf(s) === chosen) ?? (wanted ? owners.find((s) => ownerOf(s) === wanted) : null) ?? busiest;
  const series = useMemo(() => (owner ? all.filter((s) => ownerOf(s) === ownerOf(owner)) : []), [all, owner]);
  const s = series.find((k) => whatOf(k) === (said || wantedWhat)) ?? series[0];
  const points = useMemo(() => (s ? pointsOf(pack, s) : []), [pack, s]);
  const [picked, pick] = useState<{ s: InstanceSeries; p: Point } | null>(null);
  if (!p || !owner || !s) return <Panel title="Instances">{<p class="note">{whyNot(p?.format ?? 1)}</p>}</Panel>;
  const shown = picked?.s === s ? picked.p : null;
  const time = shown ? timeOf(pack, all, s, shown.first, shown.last) : null;
  const timed = isTimed(pack, all, s);
  const classes = p.classes ? (pack.json.manifest?.kept.classes.length ?? 0) : 0;
  const table = () => ({
    columns: ['first', 'last', 'instances', 'threads', 'calls', 'sum_ns', 'mean_ns', 'least_ns', 'most_ns', 'most_thread', ...Array.from({ length: classes }, (_, c) => `class_${c + 1}_mean_ns`)],
    rows: points.map((q) => [q.first, q.last, q.many, q.threads, q.calls, q.sum, q.mean, q.least, q.most, q.whose < 0 ? null : threadName(pack, q.whose), ...Array.from({ length: classes }, (_, c) => pack.column(`instance.class.${c}`)[q.row] ?? null)]),
  });
  const worst = points.reduce<Point | null>((a, b) => (a && a.most >= b.most ? a : b), null);
  const grouped = points.some((q) => q.many > 1);
  return (
    <Panel
      title="Instances"
      class="profile-instances"
      note={`${ownerName(owner)}: ${plural(owner.of, 'instance')}${grouped ? `, in ${plural(points.length, 'point')} of ${count(Math.max(...points.map((q) => q.many)))}, each the mean` : ''}`}
      tools={
        <>
          <label class="field">
            Phase
            <select value={keyOf(owner)} onChange={(e) => choose(e.currentTarget.value)}>
              {owners.map((k) => (
                <option key={keyOf(k)} value={keyOf(k)}>
                  {ownerName(k)}, {count(k.of)}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            Time
            <select value={whatOf(s)} onChange={(e) => setWhat(e.currentTarget.value)}>
              {series.map((k) => (
                <option key={whatOf(k)} value={whatOf(k)}>
                  {whatName(k)}
                </option>
              ))}
            </select>
          </label>
          <SaveTools name="profile, instances" table={table} picture={box} />
        </>
      }
    >
      <p class="keys">
        <Key name="mean of the threads" line="line mean" /> <Key name="from the thread with the least to the one with the most" line="band" />
        {Array.from({ length: classes }, (_, c) => (
          <Key key={c} name={`class ${c + 1}, mean`} line={`line class-${c % CLASS_LINES}`} />
        ))}
      </p>
      <div ref={box}>
        <SizedBox class="profile-box">
          {({ width, height }) => (
            <Chart
              s={s}
              points={points}
              classes={classes}
              shown={shown}
              width={width}
              height={height}
              pick={(q) => {
                pick({ s, p: q });
                const t = timeOf(pack, all, s, q.first, q.last);
                if (t) select({ fromNS: t[0], toNS: t[1] });
              }}
            />
          )}
        </SizedBox>
      </div>
      <p class="note" role="status">
        {shown ? (
          <>
            {nameOf(shown)}: {ns(shown.mean)} mean, {ns(shown.most)} most{shown.whose >= 0 ? ` (${threadName(pack, shown.whose)})` : ''}.{' '}
            {time ? (
              <>
                It ran from {ns(time[0])} to {ns(time[1])}, which is selected in all views.{keptOf(pack.json.manifest, time) ? '' : ` ${NOT_KEPT}`}{' '}
                <button type="button" class="link" onClick={() => goTo('timeline', { fromNS: time[0], toNS: time[1] })}>
                  Timeline
                </button>
              </>
            ) : (
              UNTIMED
            )}
          </>
        ) : worst ? (
          <>
            Longest: {nameOf(worst)}, {ns(worst.most)}
            {worst.whose >= 0 ? ` on ${threadName(pack, worst.whose)}` : ''}, {ratio(worst.most / worst.mean)} times the mean of its threads.{' '}
            {timed ? 'Click a point to select its time in all views.' : UNTIMED}
          </>
        ) : null}{' '}
        {p.merged}
      </p>
    </Panel>
  );
}

function Key({ name, line }: { name: string; line: string }) {
  return (
    <span>
      <svg width="28" height="10" aria-hidden="true">
        <path class={line} d={line === 'band' ? 'M0 0H28V10H0Z' : 'M0 5H28'} />
      </svg>{' '}
      {name}
    </span>
  );
}

const UNTIMED = 'When an instance ran is not known: the directory is of an earlier version, whose instances.parquet has no times.';

// whyNot says why there are no instances.
const whyNot = (format: number) =>
  format < 2
    ? 'Instances are not known: the directory is of an earlier version. Measure the program again.'
    : 'Instances are not known: the program names no phase and repeats nothing, or the directory has no instances.parquet. Name phases in the program (moriens.h), or functions with --phase-function.';

export const CLASS_LINES = 4; // that look different

interface ChartProps {
  readonly s: InstanceSeries;
  readonly points: readonly Point[];
  readonly classes: number;
  readonly shown: Point | null;
  readonly width: number;
  readonly height: number;
  readonly pick: (p: Point) => void;
}

function Chart({ s, points, classes, shown, width, height, pick }: ChartProps) {
  const pack = usePack();
  const [at, setAt] = useState(-1);
  const [w, h] = [Math.max(10, width - LEFT - RIGHT), Math.max(10, height - BOTTOM - TOP)];
  const end = Math.max(s.of - 1, points.at(-1)?.last ?? 0);
  const inX = { from: -0.5, to: end + 0.5 };
  const most = points.reduce((m, p) => Math.max(m, p.most), 0) || 1;
  const inY = { from: 0, to: most * 1.05 };
  const x = (v: number) => ((v - inX.from) / (inX.to - inX.from)) * w;
  const y = (v: number) => h * (1 - v / inY.to);
  const middle = (p: Point) => (p.first + p.last) / 2;
  // Of more points than pixels a pixel has the least, the most and the mean of its own.
  const drawn = useMemo(() => perPixel(points, (p) => Math.floor(x(middle(p)))), [points, w]);
  const lines = useMemo(() => {
    let [upper, lower, mean] = ['', '', ''];
    for (const d of drawn) {
      const at = x(d.middle).toFixed(1);
      upper += `${upper ? 'L' : 'M'}${at} ${y(d.most).toFixed(1)}`;
      lower = `L${at} ${y(d.least).toFixed(1)}${lower}`;
      mean += `${mean ? 'L' : 'M'}${at} ${y(d.mean).toFixed(1)}`;
    }
    const byClass = Array.from({ length: classes }, (_, c) => {
      const column = pack.column(`instance.class.${c}`);
      let d = '';
      for (const p of drawn) {
        let [sum, n] = [0, 0];
        for (const q of p.of) {
          const v = column[q.row]!;
          if (!Number.isFinite(v)) continue;
          sum += v;
          n++;
        }
        if (n > 0) d += `${d ? 'L' : 'M'}${x(p.middle).toFixed(1)} ${y(sum / n).toFixed(1)}`;
      }
      return d;
    });
    return { band: upper ? `${upper}${lower}Z` : '', mean, byClass };
  }, [drawn, w, h, inY.to, classes]);
  const few = drawn.length <= w / 6;
  const words = (p: Point): Omit<Tip, 'x' | 'y'> => ({
    title: nameOf(p),
    rows: [
      ['mean', ns(p.mean)],
      ['least', ns(p.least)],
      ['most', `${ns(p.most)}${p.whose >= 0 ? `, ${threadName(pack, p.whose)}` : ''}`],
      ['threads', count(p.threads)],
      ...(s.what === 'mpi' || s.what === 'computation' ? ([[s.what === 'mpi' ? 'calls' : 'bursts', count(p.calls)]] as [string, string][]) : []),
      ['sum over threads', ns(p.sum)],
    ],
    says: p.many > 1 ? ['Times are of one instance; the sum is of all.'] : [],
  });
  const nearest = (e: MouseEvent): Point | null => {
    const v = (e.clientX - (e.currentTarget as Element).getBoundingClientRect().left - LEFT) / w;
    const wanted = inX.from + v * (inX.to - inX.from);
    let best: Point | null = null;
    for (const p of points) if (!best || Math.abs(middle(p) - wanted) < Math.abs(middle(best) - wanted)) best = p;
    return best;
  };
  const press = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : e.key === 'PageDown' ? 50 : e.key === 'PageUp' ? -50 : 0;
    if (step) setAt(Math.min(points.length - 1, Math.max(0, at + step)));
    else if (e.key === 'Home' || e.key === 'End') setAt(e.key === 'Home' ? 0 : points.length - 1);
    else if (e.key === 'Enter' && points[at]) pick(points[at]);
    else return;
    e.preventDefault();
  };
  probe('instances', () => ({ points: points.length, drawn: drawn.length, of: s.of, mean: points.map((p) => p.mean) }));
  const now = points[at];
  const said = now ? words(now) : null;
  const mark = now ?? shown;
  const [tx, ty] = [linearTicks(inX, w, 64, '').filter((t) => Number.isInteger(t.at)), linearTicks(inY, h, 26, 'ns')];
  return (
    <>
      <svg
        class="chart pickable"
        width={width}
        height={height}
        tabIndex={0}
        role="application"
        aria-label={`Time of each instance: ${whatName(s)}. Arrow keys go from point to point, Enter selects its time.`}
        onKeyDown={press}
        onBlur={() => setAt(-1)}
        onPointerMove={(e) => {
          const p = nearest(e);
          if (p) showTip({ x: e.clientX, y: e.clientY, ...words(p) });
        }}
        onPointerLeave={hideTip}
        onClick={(e) => {
          const p = nearest(e);
          if (p) pick(p);
        }}
      >
        <g transform={`translate(${LEFT},${TOP})`}>
          <Grid x={[]} y={ty} inX={inX} inY={inY} width={w} height={h} />
          <path class="band" d={lines.band} />
          {few ? drawn.map((d) => <line key={d.middle} class="range" x1={x(d.middle)} x2={x(d.middle)} y1={y(d.least)} y2={y(d.most)} />) : null}
          {lines.byClass.map((d, c) => (
            <path key={c} class={`line class-${c % CLASS_LINES}`} d={d} />
          ))}
          <path class="line mean" d={lines.mean} />
          {few ? drawn.map((d) => <circle key={d.middle} class="mean" cx={x(d.middle)} cy={y(d.mean)} r={2.5} />) : null}
          {mark ? (
            <>
              <line class="mark" x1={x(middle(mark))} x2={x(middle(mark))} y2={h} />
              <circle class="mark" cx={x(middle(mark))} cy={y(mark.mean)} r={5} />
            </>
          ) : null}
          <Axis side="left" ticks={ty} span={inY} pixels={h} title="time of an instance" />
          <g transform={`translate(0,${h})`}>
            <Axis side="bottom" ticks={tx} span={inX} pixels={w} title="instance" />
          </g>
        </g>
      </svg>
      <span class="hidden" role="status">
        {said ? `${said.title ?? ''}: ${(said.rows ?? []).map((r) => r.join(' ')).join(', ')}` : ''}
      </span>
    </>
  );
}
