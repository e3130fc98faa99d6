// What is not in the result, what the user should know, and what measuring has taken.
import { lossesOf } from '../../data/losses';
import { overheadOf } from '../../data/overhead';
import type { Pack } from '../../data/pack';
import { Panel } from '../../parts/Panel';

export function Losses({ pack }: { pack: Pack }) {
  const m = pack.json.manifest;
  if (!m) return null;
  const losses = lossesOf(m);
  const overhead = overheadOf(m, m.seconds * pack.json.threads);
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
      {overhead ? (
        <Panel title="Measurement overhead">
          <p>{overhead}</p>
        </Panel>
      ) : null}
    </>
  );
}
