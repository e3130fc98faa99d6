// How well the run used its processors: the factors with the elapsed time that each costs, and where the time of all
// ranks is.
import { tree, type Budget, type Efficiency, type Factor, type Factors, type Part } from '../../data/efficiency';
import { nameOf, numberOf } from '../../data/names';
import type { Pack } from '../../data/pack';
import { scopesOf, type Waits } from '../../data/waits';
import { count, percent, plural, seconds } from '../../format';
import { Heads, numbers } from '../../parts/Heads';
import { Empty, Panel } from '../../parts/Panel';
import { usePart, Within } from '../../parts/Within';
import { SaveTools } from '../../save/SaveTools';
import { goTo, useParam } from '../../store';
import { Key } from './Key';

export function EfficiencyPanel({ pack }: { pack: Pack }) {
  const { part } = usePart();
  const e = pack.json.efficiency;
  if (pack.json.threads === 0) return null;
  if (!e || !part) {
    return (
      <Panel title="Efficiency">
        <Empty>Not known: the directory has no efficiency.json, and no profile.parquet from which it could be computed.</Empty>
      </Panel>
    );
  }
  const rows = tree(part);
  const table = () => ({ columns: ['factor', 'ratio', 'lost_seconds'], rows: rows.map((r) => [r.name, r.ratio, r.to - r.from]) });
  return (
    <Panel
      title="Efficiency"
      note={part.says}
      tools={
        <>
          <Within />
          <SaveTools name="efficiency" table={table} />
        </>
      }
      class="efficiency"
    >
      <div class="efficiency-columns">
        <div>
          <Tree rows={rows} part={part} bound={e.bound} />
          <Next rows={rows} part={part} waits={pack.json.waits} />
        </div>
        <div>
          <BudgetTable budget={part.budget} part={part} locations={e.locations} ranks={e.ranks} />
          <Most pack={pack} part={part} />
        </div>
      </div>
      {e.bound ? <p class="bound">* A bound, not the value: {e.why.length > 0 ? e.why.join('; ') : 'something is not known'}.</p> : null}
      {part.own ? <Others e={e} /> : null}
    </Panel>
  );
}

function Tree({ rows, part, bound }: { rows: readonly Factor[]; part: Part; bound: boolean }) {
  const t = part.seconds;
  return (
    <table class="factors">
      <thead>
        <tr>
          <th scope="col">Factor</th>
          <th scope="col" class="n" title="1 is best; load balance × communication = parallel efficiency">
            Ratio
          </th>
          <th scope="col" class="n" title="elapsed time that the factor costs; the losses of load balance and communication add up to that of parallel efficiency">
            Lost
          </th>
          <th scope="col" class="bar">
            of the elapsed time T, {seconds(t)} <Key kind="before" name="computing, mean of the ranks" /> <Key kind="lost" name="lost" />
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => {
          const known = Number.isFinite(r.ratio);
          return (
            <tr key={r.name} data-factor={r.name} class={`depth-${r.depth} ${known ? '' : 'unknown'}`} title={known ? r.says : `${r.says}: ${r.why ?? 'not defined'}`}>
              <th scope="row">{r.name}</th>
              <td class="n">
                {percent(r.ratio)}
                {known && bound ? '*' : ''}
              </td>
              <td class="n">{seconds(r.to - r.from)}</td>
              <td class="bar">
                {known && t > 0 ? <Bar from={r.from / t} to={r.to / t} /> : null}
                {known ? null : <span class="hidden">{r.why ?? 'not defined'}</span>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

// Bar shows a stretch of T, 0-1, behind what is before it.
function Bar({ from, to }: { from: number; to: number }) {
  const [a, b] = [from, to].map((v) => 100 * Math.min(1, Math.max(0, v))) as [number, number];
  return (
    <svg width="100%" height="11" aria-hidden="true">
      <rect class="track" width="100%" height="11" />
      <rect class="before" width={`${a}%`} height="11" />
      <rect class="lost" x={`${a}%`} width={`${Math.max(0, b - a)}%`} height="11" />
    </svg>
  );
}

// Next says which factor costs most, and where to look.
function Next({ rows, part, waits }: { rows: readonly Factor[]; part: Part; waits: Waits | null }) {
  const [, sortBy] = useParam('sort', 'id');
  const lost = (r: Factor) => r.to - r.from;
  const of = (name: string) => rows.find((r) => r.name === name);
  const [balance, communication] = [of('Load balance'), of('Communication')];
  const t = part.seconds;
  if (!balance || !communication || !(t > 0) || !Number.isFinite(lost(balance)) || !Number.isFinite(lost(communication))) return null;
  const clusters = (
    <button
      type="button"
      class="link"
      onClick={() => {
        sortBy('-lost');
        goTo('clusters');
      }}
    >
      Clusters by lost time
    </button>
  );
  const most = lost(balance) > lost(communication) ? balance : communication;
  if (lost(balance) + lost(communication) < 0.02 * t)
    return (
      <p class="next">
        Little is lost outside of computing: what remains is to compute less, or faster.{' '}
        <button type="button" class="link" onClick={() => goTo('clusters')}>
          Clusters
        </button>
      </p>
    );
  const cost = `${seconds(lost(most))}, ${percent(lost(most) / t)} of T`;
  if (most === communication)
    return (
      <p class="next">
        Communication costs most: {cost}.{' '}
        {scopesOf(waits).length > 0 ? (
          <>
            Who waits for whom, and why:{' '}
            <button type="button" class="link" onClick={() => goTo('waits')}>
              Waits
            </button>
            .{' '}
          </>
        ) : null}
        Who is in MPI, and when:{' '}
        <button type="button" class="link" onClick={() => goTo('ranks')}>
          Ranks
        </button>
        ,{' '}
        <button type="button" class="link" onClick={() => goTo('timeline')}>
          Timeline
        </button>
      </p>
    );
  const [inside, between] = [of('in nodes'), of('between nodes')].map((r) => (r ? lost(r) : NaN)) as [number, number];
  const where = inside > 2 * between ? ', mostly in nodes' : between > 2 * inside ? ', mostly between nodes' : '';
  return (
    <p class="next">
      Load imbalance costs most: {cost}
      {where}. In which computation: {clusters}
    </p>
  );
}

function BudgetTable({ budget: b, part, locations, ranks }: { budget: Budget; part: Part; locations: number; ranks: number }) {
  const rows: [string, number, string][] = [
    ['Computing', b.computing_seconds, 'between MPI calls'],
    ['In MPI', b.mpi_seconds, 'in MPI calls'],
    ['Before first, after last record', b.outside_seconds, 'before the first record of a rank, and after its last'],
    ['Not recorded', b.not_recorded_seconds, 'paused, lost, or not kept'],
  ];
  const who = locations > ranks ? `${plural(locations, 'thread')} that called MPI` : plural(ranks, 'rank');
  const share = (v: number) => v / b.total_seconds;
  return (
    <table class="budget">
      <Heads of={['Budget', numbers('Time'), numbers('Share'), { title: '', class: 'bar' }]} />
      <tbody>
        {rows.map(([name, v, says]) => (
          <tr key={name} title={says}>
            <th scope="row">{name}</th>
            <td class="n">{seconds(v)}</td>
            <td class="n">{percent(share(v))}</td>
            <td class="bar">
              <svg width="100%" height="11" aria-hidden="true">
                <rect class="track" width="100%" height="11" />
                <rect class="lost" width={`${100 * Math.min(1, Math.max(0, share(v) || 0))}%`} height="11" />
              </svg>
            </td>
          </tr>
        ))}
        <tr class="sum">
          <th scope="row">Total</th>
          <td class="n">{seconds(b.total_seconds)}</td>
          <td colSpan={2} class="of">
            {who} × {seconds(part.seconds)}
          </td>
        </tr>
      </tbody>
    </table>
  );
}

function Most({ pack, part }: { pack: Pack; part: Part }) {
  const who = part.most_computing;
  if (!who || !(part.mean_computing_seconds > 0)) return null;
  const n = numberOf(pack, who);
  return (
    <p class="most">
      Most computing:{' '}
      <button type="button" class="link" disabled={n < 0} onClick={() => goTo('ranks', { threads: [[n, n]] })}>
        {nameOf(who, (pack.json.manifest?.worlds.length ?? 0) > 1)}
      </button>
      , {seconds(part.most_computing_seconds)}, {(part.most_computing_seconds / part.mean_computing_seconds).toFixed(2)} times the mean of {seconds(part.mean_computing_seconds)}
    </p>
  );
}

// Others are the same factors of the main threads alone, and of each world.
function Others({ e }: { e: Efficiency }) {
  const rows: [string, number, Factors][] = [
    ...(e.main_threads ? ([['main threads, which called MPI_Init', e.ranks, e.main_threads]] as [string, number, Factors][]) : []),
    ...e.worlds.map((w): [string, number, Factors] => [`world ${w.world}`, w.locations, w]),
  ];
  if (rows.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Efficiency of main threads and worlds">
      <table class="others">
        <Heads of={['Subset', numbers('Threads'), numbers('T', 'elapsed time'), numbers('Parallel efficiency'), numbers('Load balance'), numbers('Communication'), numbers('Lost', 'T less the mean computing time')]} />
        <tbody>
          {rows.map(([name, n, f]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="n">{count(n)}</td>
              <td class="n">{seconds(f.seconds)}</td>
              <td class="n">{percent(f.parallel_efficiency)}</td>
              <td class="n">{percent(f.load_balance)}</td>
              <td class="n">{percent(f.communication_efficiency)}</td>
              <td class="n">{seconds(f.seconds - f.mean_computing_seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
