// What ran, where and for how long.
import type { Pack } from '../../data/pack';
import { runName } from '../../data/run';
import { count, plural, score, seconds } from '../../format';
import { total } from '../../data/groups';

export function Facts({ pack }: { pack: Pack }) {
  const m = pack.json.manifest;
  if (!m) return null;
  const threads = pack.json.threads;
  const facts: [string, string][] = [
    ['Ranks', threads > m.ranks ? `${count(m.ranks)} (${plural(threads, 'thread')})` : count(m.ranks)],
    ['Hosts', hosts(m.hosts.map((h) => h.name))],
    ['Time', seconds(m.seconds)],
    ['Bursts', count(m.bursts)],
    ['MPI calls', count(total(m.mpi_calls.values()))],
    ['Clusters', count(pack.json.clusters?.clusters.length ?? NaN)],
    ['Score', score(m.score)],
  ];
  const mpi = [m.mpi.library, m.mpi.version].filter(Boolean).join(' ');
  if (mpi) facts.splice(2, 0, ['MPI', mpi]);
  return (
    <section class="facts" aria-label="What ran">
      <div class="facts-title">
        <h2>{runName(pack)}</h2>
        <p>
          {when(m.started)}
          {m.exit_status !== 0 ? <span class="bad"> · exit status {m.exit_status}</span> : null}
          {m.ended_by ? <span class="bad"> · ended by {m.ended_by}</span> : null}
        </p>
      </div>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt title={name === 'Score' ? 'How far the ranks do the same at the same time, 0–1' : undefined}>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {m.command.length > 0 || m.trace ? <code class="command">{m.trace || m.command.join(' ')}</code> : null}
    </section>
  );
}

function hosts(names: readonly string[]): string {
  const [first] = names;
  return first !== undefined && names.length === 1 ? first : count(names.length);
}

// when shows the start in the reader's time zone. A trace may not know it: that is year 1.
function when(started: string): string {
  const t = new Date(started);
  if (Number.isNaN(t.getTime()) || t.getFullYear() < 1970) return 'start not known';
  return t.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}
