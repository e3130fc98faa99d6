// The clusters by time, the same rows as in the terminal; a row selects its cluster everywhere.
import { useState } from 'preact/hooks';
import { briefPath } from '../../data/names';
import type { Pack } from '../../data/pack';
import { cluster as clusterName, count, ns, percent, score, seconds } from '../../format';
import { colourOf } from '../../palette';
import { Heads, numbers } from '../../parts/Heads';
import { Empty, Panel } from '../../parts/Panel';
import { Swatch } from '../../parts/Swatch';
import { SaveTools } from '../../save/SaveTools';
import { toggleCluster, useSelection } from '../../store';
import { useTheme } from '../../theme';

const ROWS = 10;

export function ClusterTable({ pack }: { pack: Pack }) {
  const [all, setAll] = useState(false);
  const theme = useTheme();
  const { clusters: chosen } = useSelection();
  const clusters = pack.json.clusters?.clusters ?? [];
  const total = pack.json.clusters?.total;
  const rest = total
    ? ([
        [-1, total.noise_share, total.noise_bursts],
        [-2, total.filtered_share, total.filtered_bursts],
        [-3, total.missing_share, total.missing_bursts],
      ] as const)
    : [];
  const rows = [
    ...(all ? clusters : clusters.slice(0, ROWS)).map((c) => ({ ...c, where: c.before[0]?.name ?? '', to: c.after[0]?.name ?? '' })),
    ...rest
      .filter(([, , n]) => n > 0)
      .map(([id, share, bursts]) => ({ id, share, bursts, seconds: share * (total?.seconds ?? NaN), mean_ns: NaN, score: NaN, where: '', to: '' })),
  ];
  const largest = Math.max(...rows.map((r) => r.share), 0.001);
  return (
    <Panel
      title="Clusters by time"
      tools={
        clusters.length > 0 ? (
          <SaveTools
            name="clusters"
            table={() => ({
              columns: ['cluster', 'seconds', 'share', 'bursts', 'mean_ns', 'std_ns', 'score', 'before', 'after'],
              rows: clusters.map((c) => [c.id, c.seconds, c.share, c.bursts, c.mean_ns, c.std_ns, c.score, c.before[0]?.name ?? '', c.after[0]?.name ?? '']),
            })}
          />
        ) : undefined
      }
    >
      {clusters.length === 0 ? <Empty>{pack.json.clusters ? 'No clusters were found.' : 'What clusters there are is not known: clusters.json is missing or could not be read.'}</Empty> : null}
      {rows.length > 0 ? (
        <div class="scroll">
          <table class="clusters-by-time">
            <Heads of={['Cluster', { title: 'Share of computing time', class: 'bar' }, numbers('Time'), numbers('Bursts'), numbers('Mean'), numbers('Score', 'How far the ranks do the same at the same time, 0–1'), 'From → to']} />
            <tbody>
              {rows.map((r) => (
                <tr key={r.id} class={chosen?.includes(r.id) ? 'chosen' : ''}>
                  <td>
                    <button type="button" class="link" aria-pressed={chosen?.includes(r.id) ?? false} onClick={(e) => toggleCluster(r.id, !(e.ctrlKey || e.metaKey || e.shiftKey))}>
                      <Swatch id={r.id} /> {clusterName(r.id)}
                    </button>
                  </td>
                  <td class="bar">
                    <svg width="96" height="9" aria-hidden="true">
                      <rect width={(96 * r.share) / largest} height="9" fill={colourOf(r.id, theme)} />
                    </svg>
                    <span class="n">{percent(r.share)}</span>
                  </td>
                  <td class="n">{seconds(r.seconds)}</td>
                  <td class="n">{count(r.bursts)}</td>
                  <td class="n">{ns(r.mean_ns)}</td>
                  <td class="n">{score(r.score)}</td>
                  <td class="path" title={r.where && `${r.where} → ${r.to}`}>
                    {r.where ? `${briefPath(r.where)} → ${briefPath(r.to)}` : ''}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      {clusters.length > ROWS ? (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `The first ${ROWS} only` : `All ${count(clusters.length)} clusters`}
        </button>
      ) : null}
    </Panel>
  );
}
