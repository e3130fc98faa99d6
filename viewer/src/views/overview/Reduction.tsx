// How much smaller the directory is than the full trace, what it holds in full detail, and the reconstruction error.
import type { Manifest } from '../../data/manifest';
import type { Pack } from '../../data/pack';
import { bytes, count, percent, plural, ratio } from '../../format';
import { Panel } from '../../parts/Panel';

export function Reduction({ pack }: { pack: Pack }) {
  const m = pack.json.manifest;
  if (!m) return null;
  const r = m.reduction;
  return (
    <Panel title="What was kept">
      {m.cells ? <p class="told">{told(m.cells)}</p> : null}
      <dl class="figures">
        {size(m).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {r.error ? (
        <>
          <h3>Reconstruction error</h3>
          <dl class="figures">
            {errors(r.error).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      ) : null}
      {r.missing.length > 0 ? (
        <>
          <h3>Missing</h3>
          <ul class="plain">
            {r.missing.map((s) => (
              <li key={s}>{s}</li>
            ))}
          </ul>
        </>
      ) : null}
    </Panel>
  );
}

// A run whose bursts were kept on their nodes: which ranks are in full, and how far the clusters are those of the
// bursts.
function told(c: NonNullable<Manifest['cells']>): string {
  const others = c.ranks_in_sum > 0 ? `, the other ${c.ranks_in_sum === 1 ? 'one' : count(c.ranks_in_sum)} as totals only` : '';
  const few = `${plural(c.ranks_in_full, 'rank')} in full${others}`;
  const silent = c.ranks_silent > 0 ? `; no data from ${plural(c.ranks_silent, 'more rank')}` : '';
  const found = c.exact
    ? 'the clusters of all ranks equal those of the individual bursts'
    : `the clusters of all ranks depend on the positions of ${plural(c.bursts_in_question, 'burst')} in ${plural(c.units_in_question, 'micro-cell')}, which are no longer known`;
  const floor = c.bound ? `, with no Eps below ${c.floor.toPrecision(3)}, although a smaller one was requested` : '';
  const clustered = c.side > 0 ? ` By the certificate, ${found}${floor}.` : '';
  return `Bursts were kept on their nodes, as micro-cells. This page has ${few}${silent}.${clustered}`;
}

function size({ kept, reduction: r }: Manifest): [string, string][] {
  const said: [string, string][] = [];
  if (kept.how) said.push(['Kept', kept.how]);
  if (r.bytes > 0) said.push(['Run directory', bytes(r.bytes)]);
  if (r.full_bytes > 0) said.push(['Full trace', `${r.full_measured ? '' : 'about '}${bytes(r.full_bytes)}`]);
  if (r.ratio >= 1 && r.missing.length === 0) said.push(['Smaller by', `${ratio(r.ratio)} times`]);
  if (kept.windows.length > 0) {
    const why = new Map<string, number>();
    for (const w of kept.windows) why.set(w.why, (why.get(w.why) ?? 0) + 1);
    said.push(['Windows in full detail', `${count(kept.windows.length)} (${[...why].map(([w, n]) => `${count(n)} ${w}`).join(', ')})`]);
  }
  if (kept.bursts > 0) said.push(['In full detail', `${plural(kept.bursts, 'burst')} and ${plural(kept.calls, 'MPI call')} of ${plural(kept.ranks, 'rank')}`]);
  if (kept.sampled_bursts > 0) said.push(['Sample', `${count(kept.sampled_bursts)} of ${count(kept.sampled_of)} other bursts`]);
  const dropped = kept.dropped.length + kept.more_dropped;
  if (dropped > 0) said.push(['No space for', plural(dropped, 'more window')]);
  return said;
}

function errors(e: NonNullable<Manifest['reduction']['error']>): [string, string][] {
  const worst = (id: number, error: number) => (id > 0 ? ` (worst: cluster ${id}, ${percent(error)})` : '');
  const said: [string, string][] = [
    ['Computing time', `${percent(e.weighted.time)}${worst(e.weighted.worst_cluster, e.weighted.worst_time)}`],
    [e.sources.sample > 0 ? 'From windows' : 'From windows alone', `${percent(e.windows.time)}${worst(e.windows.worst_cluster, e.windows.worst_time)}${e.sources.sample > 0 ? '; the rest from the sample' : ''}`],
    ['Represented by windows', `${percent(e.represented_share)} of the computing time`],
  ];
  for (const c of e.weighted.counters.slice(0, 2)) said.push([c.name, percent(c.error)]);
  return said;
}
