// Phases with their factors, and the iterations of one of them, each as long as it took.
import { useRef } from 'preact/hooks';
import { phaseKey, phaseTitle, type Efficiency, type Iteration, type Phase } from '../../data/efficiency';
import { total } from '../../data/groups';
import type { Pack } from '../../data/pack';
import { Axis } from '../../draw/axes';
import { linearTicks } from '../../draw/ticks';
import { count, percent, plural, seconds } from '../../format';
import { Heads, numbers } from '../../parts/Heads';
import { Panel } from '../../parts/Panel';
import { SizedBox } from '../../parts/SizedBox';
import { hideTip, showTip } from '../../parts/tooltip';
import { usePart } from '../../parts/Within';
import { SaveTools } from '../../save/SaveTools';
import { goTo } from '../../store';
import { Key } from './Key';

export function Phases({ pack }: { pack: Pack }) {
  const { part } = usePart();
  const e = pack.json.efficiency;
  if (!e || e.phases.length === 0) return null;
  const repeating = e.phases.filter((p) => e.iterations.some((i) => i.phase === p.phase));
  const longest = repeating.reduce<Phase | null>((a, b) => (a && a.seconds >= b.seconds ? a : b), null);
  const drawn = repeating.find((p) => phaseKey(p) === part?.key) ?? longest;
  return (
    <>
      <PhaseTable e={e} />
      {drawn ? <Iterations phase={drawn} list={e.iterations.filter((i) => i.phase === drawn.phase)} begin={beginOf(e, drawn)} /> : null}
    </>
  );
}

// beginOf is when the iterations of a phase begin, s from time 0 of the run: those of the first phase with the loop.
// NaN: not known.
function beginOf(e: Efficiency, phase: Phase): number {
  const first = Math.min(...e.iterations.map((i) => i.phase));
  return phase.phase === first ? (e.stretches.find((s) => s.within === 'loop')?.begin_seconds ?? NaN) : NaN;
}

const columns = ['phase', 'times', 'seconds', 'parallel_efficiency', 'load_balance', 'communication_efficiency', 'lost_seconds'];
const lostIn = (p: Phase) => p.seconds - p.mean_computing_seconds;

function PhaseTable({ e }: { e: Efficiency }) {
  const { part, parts, choose } = usePart();
  const table = () => ({ columns, rows: e.phases.map((p) => [phaseTitle(p), p.iterations, p.seconds, p.parallel_efficiency, p.load_balance, p.communication_efficiency, lostIn(p)]) });
  return (
    <Panel title="Phases" tools={<SaveTools name="phases" table={table} />}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Phases">
        <table class="phases">
          <Heads of={['Phase', numbers('Times', 'iterations, or how often the program was in it'), numbers('T', 'elapsed time'), numbers('Parallel efficiency'), numbers('Load balance'), numbers('Communication'), numbers('Lost', 'T less the mean computing time')]} />
          <tbody>
            {e.phases.map((p) => {
              const chosen = part?.key === phaseKey(p);
              return (
                <tr key={phaseKey(p)} class={chosen ? 'chosen' : ''}>
                  <th scope="row">
                    <button type="button" class="link" aria-pressed={chosen} title="Show the factors of this phase above" onClick={() => choose(chosen ? (parts[0]?.key ?? '') : phaseKey(p))}>
                      {phaseTitle(p)}
                    </button>
                  </th>
                  <td class="n">{Number.isNaN(p.phase) ? plural(p.iterations, 'time') : plural(p.iterations, 'iteration')}</td>
                  <td class="n">{seconds(p.seconds)}</td>
                  <td class="n">{percent(p.parallel_efficiency)}</td>
                  <td class="n">{percent(p.load_balance)}</td>
                  <td class="n">{percent(p.communication_efficiency)}</td>
                  <td class="n">{seconds(lostIn(p))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const LEFT = 70;
const BELOW = 40;

// An entry of several iterations stands for their mean.
const several = (i: Iteration) => Math.max(1, i.count);
const meanSeconds = (i: Iteration) => i.seconds / several(i);
const nameOf = (i: Iteration) => (several(i) > 1 ? `iterations ${count(i.iteration)} to ${count(i.iteration + several(i) - 1)}, mean` : `iteration ${count(i.iteration)}`);

function Iterations({ phase, list, begin }: { phase: Phase; list: readonly Iteration[]; begin: number }) {
  const box = useRef<HTMLDivElement>(null);
  const worst = list.reduce<Iteration | null>((a, b) => (a && !(b.parallel_efficiency < a.parallel_efficiency) ? a : b), null);
  const before = worst ? total(list.slice(0, list.indexOf(worst)).map((i) => i.seconds)) : NaN;
  const [fromNS, toNS] = [begin + before, begin + before + (worst?.seconds ?? NaN)].map((s) => Math.round(1e9 * s)) as [number, number];
  const note = `${phaseTitle(phase)}, ${plural(phase.iterations, 'iteration')}${list.some((i) => several(i) > 1) ? ': neighbours share a bar, but for those in which most is lost' : ''}`;
  const table = () => ({
    columns: ['phase', 'iteration', 'count', 'seconds', 'parallel_efficiency', 'load_balance', 'communication_efficiency', 'skewed'],
    rows: list.map((i) => [i.phase, i.iteration, several(i), i.seconds, i.parallel_efficiency, i.load_balance, i.communication_efficiency, i.skewed ? 1 : 0]),
  });
  return (
    <Panel title="Iterations" note={note} tools={<SaveTools name="iterations" table={table} picture={box} />}>
      <p class="keys">
        <Key kind="before" name="computing, mean of the ranks" />
        <Key kind="lost" name="lost to load balance" />
        <Key kind="lost communication" name="lost to communication" />
      </p>
      <div ref={box} class="iterations" role="img" aria-label={`Elapsed time of each iteration of ${phaseTitle(phase)}${worst ? `; the lowest parallel efficiency is ${percent(worst.parallel_efficiency)}, of ${nameOf(worst)}` : ''}`}>
        <SizedBox class="iterations-box">{({ width, height }) => <Chart list={list} width={width} height={height} />}</SizedBox>
      </div>
      {worst && list.length > 1 ? (
        <p class="pm">
          Lowest parallel efficiency: {nameOf(worst)}, {percent(worst.parallel_efficiency)} of {seconds(meanSeconds(worst))} (load balance {percent(worst.load_balance)}, communication {percent(worst.communication_efficiency)}){' '}
          {Number.isFinite(fromNS) && Number.isFinite(toNS) ? (
            <button type="button" class="link" onClick={() => goTo('timeline', { fromNS, toNS })}>
              Timeline
            </button>
          ) : null}
        </p>
      ) : null}
    </Panel>
  );
}

// Chart draws a bar for each iteration, or for several, as high as they are long.
function Chart({ list, width, height }: { list: readonly Iteration[]; width: number; height: number }) {
  const end = list.at(-1);
  const [first, last] = [list[0]?.iteration ?? 0, end ? end.iteration + several(end) - 1 : 0];
  const inX = { from: first - 0.5, to: last + 0.5 };
  const inY = { from: 0, to: 1e9 * Math.max(...list.map(meanSeconds).filter(Number.isFinite), 1e-9) * 1.04 };
  const [w, h] = [Math.max(1, width - LEFT - 8), Math.max(1, height - BELOW - 6)];
  const x = (i: number) => ((i - inX.from) / (inX.to - inX.from)) * w;
  const y = (s: number) => h * (1 - (1e9 * s) / inY.to);
  const path = (from: (i: Iteration) => number, to: (i: Iteration) => number) =>
    list
      .map((i) => {
        const [a, b] = [from(i) * meanSeconds(i), to(i) * meanSeconds(i)];
        if (!Number.isFinite(a) || !Number.isFinite(b) || b <= a) return '';
        const end = x(i.iteration + several(i) - 0.5);
        const begin = x(i.iteration - 0.5);
        const gap = end - begin > 4 ? 1 : 0;
        return `M${begin.toFixed(1)} ${y(a).toFixed(1)}H${(end - gap).toFixed(1)}V${y(b).toFixed(1)}H${begin.toFixed(1)}Z`;
      })
      .join('');
  const point = (e: PointerEvent & { currentTarget: SVGSVGElement }) => {
    const at = inX.from + ((e.clientX - e.currentTarget.getBoundingClientRect().left - LEFT) / w) * (inX.to - inX.from);
    const i = list.findLast((j) => j.iteration - 0.5 <= at);
    if (!i || at > inX.to) {
      hideTip();
      return;
    }
    showTip({
      x: e.clientX,
      y: e.clientY,
      title: nameOf(i),
      rows: [
        ['elapsed', seconds(meanSeconds(i))],
        ['parallel efficiency', percent(i.parallel_efficiency)],
        ['load balance', percent(i.load_balance)],
        ['communication', percent(i.communication_efficiency)],
        ...(i.skewed ? ([['skewed', 'a rank computes for longer: that is the base']] as [string, string][]) : []),
      ],
    });
  };
  return (
    <svg class="chart" width={width} height={height} onPointerMove={point} onPointerLeave={hideTip}>
      <g transform={`translate(${LEFT},6)`}>
        <path class="before" d={path(() => 0, (i) => i.parallel_efficiency)} />
        <path class="lost" d={path((i) => i.parallel_efficiency, (i) => i.communication_efficiency)} />
        <path class="lost communication" d={path((i) => i.communication_efficiency, () => 1)} />
        <g transform={`translate(0,${h})`}>
          <Axis side="bottom" span={inX} pixels={w} ticks={linearTicks(inX, w, 60, '').filter((t) => Number.isInteger(t.at))} title="iteration" />
        </g>
        <Axis side="left" span={inY} pixels={h} ticks={linearTicks(inY, h, 26, 'ns')} title="elapsed" />
      </g>
    </svg>
  );
}
