// A bar for each rank: its time in a phase, divided.
import { useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { threadsName } from '../data/names';
import { Axis } from '../draw/axes';
import { probe } from '../draw/probe';
import { linearTicks } from '../draw/ticks';
import { count, ns, percent, plural } from '../format';
import { Hatch, HATCH } from '../parts/Hatch';
import { Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { Patch } from '../parts/Swatch';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { inRanges } from '../state/ranges';
import { select, useParam, useSelection } from '../store';
import { useTheme } from '../theme';
import { coloured, type Coloured } from './colours';
import { isInner, type Tree } from './model';
import { columnsOf, meanIn, seriesOf } from './stacks';

const [LEFT, BOTTOM, TOP, RIGHT] = [72, 42, 6, 8];
const LEAST = 2; // px of a bar

interface Props {
  readonly t: Tree; // of phases
  readonly scope: number; // the phase
  readonly name: string; // of it
}

export function Bars({ t, scope, name }: Props) {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const box = useRef<HTMLDivElement>(null);
  const levels = useMemo(() => labelsAt(pack, selection.level), [pack, selection.level]);
  const hasPhases = t.children[scope]!.some((i) => isInner(t.type[i]!));
  const [by, choose] = useParam('bars', 'phases');
  const phases = by === 'phases' && hasPhases;
  const series = useMemo(() => coloured(t, seriesOf(pack, t, scope, phases), levels, theme), [pack, t, scope, phases, levels, theme]);
  const groups = pack.json.profile?.groups ?? [];
  const groupTitle = (g: number) => threadsName(pack, [[...groups[g]!]]);
  const table = () => ({ columns: ['ranks', 'threads', ...series.map((s) => `${s.name}, seconds`)], rows: groups.map(([a, b], g) => [groupTitle(g), b - a + 1, ...series.map((s) => s.ns[g]! / 1e9)]) });
  const grouped = groups.length < pack.json.threads;
  return (
    <Panel
      title={`Time of ranks in ${name}`}
      class="profile-bars"
      note={`${plural(groups.length, grouped ? 'group' : 'thread')}${grouped ? ` of ${plural(pack.json.threads, 'thread')}, means of each` : ''}`}
      tools={
        <>
          <label class="field">
            Divided
            <select value={phases ? 'phases' : 'parts'} onChange={(e) => choose(e.currentTarget.value)}>
              <option value="phases" disabled={!hasPhases}>
                by phase, exclusive
              </option>
              <option value="parts">into what is directly in it</option>
            </select>
          </label>
          <SaveTools name={`profile, ranks in ${name}`} table={table} picture={box} />
        </>
      }
    >
      {series.length === 0 ? (
        <p class="note">No rank has time in it.</p>
      ) : (
        <>
          <ul class="legend">
            {series.map((s) => (
              <li key={s.name} title={s.name}>
                <span>
                  <Patch fill={s.colour} variant={s.variant} /> {s.name}
                </span>
              </li>
            ))}
          </ul>
          <div ref={box}>
            <SizedBox class="profile-box">{({ width, height }) => <Chart series={series} width={width} height={height} />}</SizedBox>
          </div>
        </>
      )}
    </Panel>
  );
}

function Chart({ series, width, height }: { series: readonly Coloured[]; width: number; height: number }) {
  const pack = usePack();
  const selection = useSelection();
  const [at, setAt] = useState(-1);
  const groups = pack.json.profile?.groups ?? [];
  const [w, h] = [Math.max(10, width - LEFT - RIGHT), Math.max(10, height - BOTTOM - TOP)];
  const columns = useMemo(() => columnsOf(groups, Math.floor(w / LEAST)), [groups, w]);
  const means = useMemo(() => series.map((s) => Float64Array.from(columns, (c) => meanIn(s, c))), [series, columns]);
  const totals = columns.map((_, k) => means.reduce((sum, of) => sum + of[k]!, 0));
  const most = Math.max(...totals, 0) || 1;
  const y = { from: 0, to: most * 1.02 };
  const each = Math.min(60, w / columns.length);
  const gap = each > 4 ? 1 : 0;
  const up = (v: number) => h * (1 - v / y.to);
  const ends = (k: number): [number, number] => [groups[columns[k]!.first]![0], groups[columns[k]!.last]![1]];
  const base = new Float64Array(columns.length);
  const layers = series.map((s, n) => {
    let d = '';
    for (let k = 0; k < columns.length; k++) {
      const v = means[n]![k]!;
      if (!(v > 0)) continue;
      d += `M${(k * each).toFixed(2)} ${up(base[k]!).toFixed(2)}H${((k + 1) * each - gap).toFixed(2)}V${up(base[k]! + v).toFixed(2)}H${(k * each).toFixed(2)}Z`;
      base[k] = base[k]! + v;
    }
    return { s, d };
  });
  const several = columns.some((c) => c.threads > 1);
  const words = (k: number): Omit<Tip, 'x' | 'y'> => ({
    title: `${threadsName(pack, [ends(k)])}${columns[k]!.threads > 1 ? ', mean' : ''}`,
    rows: [
      ['together', ns(totals[k]!)],
      ...series
        .map((s, n) => ({ s, v: means[n]![k]! }))
        .filter(({ v }) => v > 0)
        .sort((a, b) => b.v - a.v)
        .map(({ s, v }): [string, string] => [s.name, `${ns(v)}, ${percent(v / totals[k]!)}`]),
    ],
    says: ['Click: select in all views.'],
  });
  const pick = (k: number) => {
    const range = ends(k);
    const now = selection.threads;
    select({ threads: now?.length === 1 && now[0]![0] === range[0] && now[0]![1] === range[1] ? null : [range] });
  };
  const over = (e: MouseEvent) => Math.floor((e.clientX - (e.currentTarget as Element).getBoundingClientRect().left - LEFT) / each);
  const press = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (step) setAt(Math.min(columns.length - 1, Math.max(0, at + step)));
    else if (e.key === 'Enter' && at >= 0) pick(at);
    else return;
    e.preventDefault();
  };
  probe('bars', () => ({ columns: columns.length, totals, series: series.map((s) => s.name) }));
  // Names below, as many as there is room for.
  const every = Math.max(1, Math.ceil(44 / each));
  const span = { from: 0, to: columns.length * each };
  const ticks = columns.map((_, k) => ({ at: (k + 0.5) * each, label: k % every === 0 ? labelOf(pack.column('thread.rank')[ends(k)[0]] ?? 0, pack.column('thread.thread')[ends(k)[0]] ?? 0) : '' })).filter((t) => t.label);
  const said = at >= 0 && at < columns.length ? words(at) : null;
  return (
    <>
      <svg class="chart pickable" width={width} height={height} tabIndex={0} role="application" aria-label="Bars of ranks. Arrow keys go from bar to bar, Enter selects the rank." onKeyDown={press} onBlur={() => setAt(-1)} onPointerMove={(e) => { const k = over(e); if (k >= 0 && k < columns.length) showTip({ x: e.clientX, y: e.clientY, ...words(k) }); else hideTip(); }} onPointerLeave={hideTip} onClick={(e) => { const k = over(e); if (k >= 0 && k < columns.length) pick(k); }}>
        <g transform={`translate(${LEFT},${TOP})`}>
          <Hatch />
          {layers.map(({ s, d }) => (
            <g key={s.name}>
              <path d={d} fill={s.colour} data-series={s.name} />
              {s.variant ? <path d={d} fill={HATCH} /> : null}
            </g>
          ))}
          {columns.map((_, k) => (selection.threads !== null && inRanges(selection.threads, ends(k)[0]) ? <rect key={k} class="drag" x={k * each} width={Math.max(1, each - gap)} height={h} /> : null))}
          {said ? <rect class="cursor" x={at * each} width={Math.max(2, each - gap)} height={h} /> : null}
          <Axis side="left" ticks={linearTicks(y, h, 26, 'ns')} span={y} pixels={h} title="time" />
          <g transform={`translate(0,${h})`}>
            <Axis side="bottom" ticks={ticks} span={span} pixels={columns.length * each} title={several ? `rank; a bar is the mean of up to ${count(Math.max(...columns.map((c) => c.threads)))} threads` : 'rank'} />
          </g>
        </g>
      </svg>
      <span class="hidden" role="status">
        {said ? `${said.title ?? ''}: ${(said.rows ?? []).map((r) => r.join(' ')).join(', ')}` : ''}
      </span>
    </>
  );
}

const labelOf = (rank: number, thread: number) => (thread ? `${rank}.${thread}` : `${rank}`);
