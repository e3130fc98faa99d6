// What is not in the result, what the user should know, and what measuring has taken.
import { total } from '../../data/groups';
import { lossesOf } from '../../data/losses';
import type { Pack } from '../../data/pack';
import { bytes, percent, plural, seconds } from '../../format';
import { Panel } from '../../parts/Panel';

export function Losses({ pack }: { pack: Pack }) {
  const m = pack.json.manifest;
  if (!m) return null;
  const losses = lossesOf(m);
  const cpu = total(m.agents.map((a) => (Number.isFinite(a.cpu_seconds) ? a.cpu_seconds : 0)));
  const all = m.seconds * pack.json.threads;
  return (
    <>
      <Panel title="Losses">
        {losses.length === 0 ? <p>Nothing was lost.</p> : null}
        <ul class="plain">
          {losses.map((s) => (
            <li key={s}>{s}</li>
          ))}
        </ul>
      </Panel>
      {m.notes.length > 0 ? (
        <Panel title="Notes">
          <ul class="plain">
            {m.notes.map((s) => (
              <li key={s}>{s}</li>
            ))}
          </ul>
        </Panel>
      ) : null}
      {m.agents.length > 0 ? (
        <Panel title="Measurement overhead">
          <p>
            {plural(m.agents.length, 'agent')} used {seconds(cpu)} of processor time{all > 0 ? ` (${percent(cpu / all)} of the ranks' time)` : ''} and at most{' '}
            {bytes(Math.max(...m.agents.map((a) => a.peak_bytes)))} of memory each.
          </p>
        </Panel>
      ) : null}
    </>
  );
}
