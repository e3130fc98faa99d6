// How the ranks were grouped: classes with the rank that stands for each, and the ranks that are unlike theirs.
import { usePack } from '../data/context';
import { numberOf, threadName, threadsName } from '../data/names';
import type { Kept, ThreadName } from '../data/manifest';
import { count, plural, ratio } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Empty, Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { select } from '../store';

export function Classes({ kept }: { kept: Kept }) {
  const pack = usePack();
  return (
    <Panel
      title="Classes"
      tools={<SaveTools name="classes" table={() => ({ columns: ['class', 'threads', 'exemplar', 'spends', 'why'], rows: kept.classes.map((c, i) => [i + 1, c.size, name(pack, c.exemplar), c.profile, c.reason]) })} />}
    >
      {kept.classes.length === 0 ? <Empty>The ranks were not grouped: there are too few, or nothing was dropped.</Empty> : null}
      {kept.grouped ? <p class="pm">{kept.grouped}</p> : null}
      <ol class="classes">
        {kept.classes.map((c, i) => (
          <li key={i}>
            <p>
              <strong>Class {i + 1}</strong>
              <button type="button" class="link" onClick={() => select({ threads: c.threads })}>
                {plural(c.size, 'rank')}
              </button>
              <span class="pm">{threadsName(pack, c.threads)}</span>
              <span class="exemplar">
                exemplar <Rank of={c.exemplar} />
              </span>
            </p>
            <p class="pm">{c.profile}</p>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

export function Outliers({ kept }: { kept: Kept }) {
  const pack = usePack();
  return (
    <Panel
      title="Ranks unlike their class"
      note={kept.outliers.length > 0 ? count(kept.outliers.length) : undefined}
      tools={<SaveTools name="outliers" table={() => ({ columns: ['thread', 'class', 'distance', 'reason'], rows: kept.outliers.map((o) => [name(pack, o), o.class + 1, o.distance, o.reason]) })} />}
    >
      {kept.outliers.length === 0 ? <Empty>None: every rank spends its time as others of its class do.</Empty> : null}
      {kept.outliers.length > 0 ? (
        <div class="scroll outliers" tabIndex={0} role="region" aria-label="Ranks unlike their class">
          <table>
            <Heads of={['Rank', numbers('Class'), numbers('Distance', '1 is as much as threads spend on the largest quantity of a unit'), 'Why']} />
            <tbody>
              {kept.outliers.map((o, i) => (
                <tr key={i}>
                  <td>
                    <Rank of={o} />
                  </td>
                  <td class="n">{count(o.class + 1)}</td>
                  <td class="n">{ratio(o.distance)}</td>
                  <td>{o.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </Panel>
  );
}

function name(pack: ReturnType<typeof usePack>, of: ThreadName): string {
  const n = numberOf(pack, of);
  return n < 0 ? `rank ${of.rank}` : threadName(pack, n);
}

function Rank({ of }: { of: ThreadName }) {
  const pack = usePack();
  const n = numberOf(pack, of);
  return (
    <button type="button" class="link" disabled={n < 0} onClick={() => select({ threads: [[n, n]] })}>
      {name(pack, of)}
    </button>
  );
}
