// What density proposed, what the judge joined, in which round, and why what is apart is apart.
import type { Clusters } from '../data/clusters';
import { cluster, count, percent, plural, ratio, score } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { Swatch } from '../parts/Swatch';
import { SaveTools } from '../save/SaveTools';
import { toggleCluster, useSelection } from '../store';
import { kinshipOf, type Basin } from './kinship';

export function Kinds({ clusters }: { clusters: Clusters }) {
  const selection = useSelection();
  const rows = kinshipOf(clusters);
  const small = clusters.refinement.joins.filter((j) => j.from === 0);
  const eps = (b: Basin | null) => (b && b.eps > 0 ? ratio(b.eps) : '–');
  const valley = (b: Basin | null) => (b && Number.isFinite(b.valley) ? score(b.valley) : '–');
  const table = () => ({
    columns: ['cluster', 'kind', 'share', 'bursts', 'basin_eps', 'valley', 'stratum', 'round', 'predicted', 'why'],
    rows: rows.map((r) => [r.id, r.kind, r.share, r.bursts, r.basin?.eps ?? null, r.basin?.valley ?? null, r.basin?.stratum ?? null, r.join?.round ?? null, r.predicted, r.why]),
  });
  return (
    <Panel
      title="Clusters and kinds"
      note={`Density proposes clusters, order decides which are one kind.${small.length > 0 ? ` ${plural(small.length, 'more cluster')} of ${plural(small.reduce((sum, j) => sum + j.bursts, 0), 'burst')} joined a kind and are too small to be clusters of their own: they count as noise.` : ''}`}
      tools={<SaveTools name="kinds" table={table} />}
    >
      <div class="scroll nodes" tabIndex={0} role="region" aria-label="Clusters and kinds">
        <table class="kinship">
          <Heads
            of={[
              'Cluster',
              'Kind',
              numbers('Share'),
              numbers('Bursts'),
              numbers('Basin: Eps', 'Eps at which its basin of density split off'),
              numbers('Valley', 'density between its basin and the next over the density of its peak; 0: they do not meet'),
              numbers('Stratum', 'bursts clustered separately because of the bursts around them, or their rank'),
              numbers('Joined in round', 'in which round the judge joined it to its kind'),
              numbers('Predicted', 'how far order (the bursts before, after and on other ranks) predicts this kind, or separates a variant from its kind'),
              'Why',
            ]}
          />
          <tbody>
            {rows.map((r) => (
              <tr key={r.id} class={`${selection.clusters?.includes(r.id) ? 'chosen' : ''} ${r.id === r.kind ? 'stands' : 'variant'}`}>
                <th scope="row">
                  <button type="button" class="link" aria-pressed={selection.clusters?.includes(r.id) ?? false} onClick={(e) => toggleCluster(r.id, !(e.ctrlKey || e.metaKey || e.shiftKey))}>
                    <Swatch id={r.id} /> {cluster(r.id)}
                  </button>
                </th>
                <td>{r.id === r.kind ? `kind ${count(r.kind)}` : `variant of ${count(r.kind)}`}</td>
                <td class="n">{percent(r.share)}</td>
                <td class="n">{count(r.bursts)}</td>
                <td class="n">{eps(r.basin)}</td>
                <td class="n">{valley(r.basin)}</td>
                <td class="n">{r.basin ? count(r.basin.stratum) : '–'}</td>
                <td class="n">{r.join ? count(r.join.round) : ''}</td>
                <td class="n">{percent(r.join ? r.join.foretold : r.predicted)}</td>
                <td class="made">{r.why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
