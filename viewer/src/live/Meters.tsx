// What measuring costs and what is lost, by cause; the nodes; and the stages of the end of the run.
import { count, percent, plural, quantity, seconds } from '../format';
import { Empty, Panel } from '../parts/Panel';
import type { Health, LivePage } from './page';

const causes: readonly (readonly [cause: keyof Health['losses'], one: string, many: string])[] = [
  ['records_dropped', 'record dropped: ring buffer full', 'records dropped: ring buffer full'],
  ['calls_abandoned', 'call left by longjmp or an exception', 'calls left by longjmp or an exception'],
  ['calls_unrecorded', 'call of a thread without a ring buffer', 'calls of threads without a ring buffer'],
  ['records_unkept', 'call or mark left in the ring buffers: spool full', 'calls and marks left in the ring buffers: spool full'],
  ['spool_full_dropped', 'call or mark dropped while the spool was full', 'calls and marks dropped while the spool was full'],
  ['files_unreadable', 'file with records cannot be read', 'files with records cannot be read'],
  ['messages_refused', 'malformed message', 'malformed messages'],
  ['ranks_died', 'rank that died', 'ranks that died'],
  ['ranks_unrecorded', 'rank that could not record', 'ranks that could not record'],
];

export function Losses({ health, ended }: { health: Health; ended: boolean }) {
  const some = causes.filter(([key]) => health.losses[key] > 0);
  const resent = health.losses.batches_resent;
  return (
    <Panel title="Losses">
      {some.length === 0 ? <p class="fine">{ended ? 'Nothing was lost.' : 'Nothing is lost so far.'}</p> : null}
      <ul class="plain">
        {some.map(([key, one, many]) => (
          <li key={key} class="lost">
            <strong>{count(health.losses[key])}</strong> {health.losses[key] === 1 ? one : many}
          </li>
        ))}
        {resent > 0 ? <li class="pm">{plural(resent, 'batch', 'batches')} sent again; nothing is lost</li> : null}
      </ul>
    </Panel>
  );
}

const shown = (v: number, unit: string) => (unit === 'share' ? (Number.isFinite(v) ? `${percent(v)} of a core` : percent(v)) : unit === 's' ? seconds(v) : quantity(v, unit));

export function Overhead({ page }: { page: LivePage }) {
  const { journal } = page.health;
  return (
    <Panel title="Measurement overhead">
      <table class="meters">
        <tbody>
          {page.overhead.map((r) => (
            <tr key={r.what} class={r.most > 0 && r.value > r.most ? 'over' : ''}>
              <th scope="row">{r.what}</th>
              <td class="n">{shown(r.value, r.unit)}</td>
              <td class="pm">{r.why || (r.most > 0 ? `${r.value > r.most ? 'above' : 'of at most'} ${shown(r.most, r.unit)}` : '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {journal?.error ? <p class="lost">The journal cannot be written: {journal.error}</p> : null}
      {page.overhead.length === 0 ? <Empty>Not known.</Empty> : null}
    </Panel>
  );
}

export function Agents({ health }: { health: Health }) {
  const state = (a: Health['agents'][number]) => (a.done ? 'done' : a.connected ? 'connected' : a.away_seconds > 0 ? `away for ${seconds(a.away_seconds)}` : 'not here yet');
  const r = health.ranks;
  const ranks = [`${count(r.running)} running`, `${count(r.ended)} ended`, ...(r.died > 0 ? [`${count(r.died)} died`] : []), ...(r.left > 0 ? [`${count(r.left)} without their agent`] : [])];
  return (
    <Panel title="Nodes" note={`${plural(r.recorded, 'rank')}: ${ranks.join(', ')}`}>
      <div class="scroll live-agents" tabIndex={0} role="region" aria-label="Nodes">
        <table>
          <tbody>
            {health.agents.map((a) => (
              <tr key={a.host}>
                <th scope="row" title={a.host}>
                  {a.host}
                </th>
                <td class="n">{plural(a.ranks, 'rank')}</td>
                <td>{state(a)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

// The names of stages as users read them, where they differ from those in the data: internal/stage.
const stageNames = new Map([
  ['return', 'reconnect'],
  ['line up', 'ranks'],
  ['cells', 'micro-cells'],
  ['sums', 'totals'],
  ['recount', 'rebuild'],
  ['choose', 'select'],
  ['judge', 'error'],
]);

export function Stages({ health }: { health: Health }) {
  return (
    <Panel title="End of the run">
      {health.analysis.length === 0 ? <Empty>It begins when all ranks have ended.</Empty> : null}
      <ol class="stages">
        {health.analysis.map((s, i) => (
          <li key={`${i} ${s.name}`} class={s.ended ? '' : 'now'}>
            <span>{stageNames.get(s.name) ?? s.name}</span>
            <span class="n">{seconds(s.seconds)}</span>
            <span class="pm">{s.given_up ? 'given up: time limit reached' : s.ended ? 'done' : 'running'}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
