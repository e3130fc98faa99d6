// The clusters by time, the same rows as in the terminal; a row selects its cluster everywhere.
import { useState } from 'preact/hooks';
import { SCORE, unclustered } from '../../data/clusters';
import { whyNot } from '../../data/efficiency';
import { briefPath } from '../../data/names';
import type { Pack } from '../../data/pack';
import { cluster as clusterName, count, ns, percent, score, seconds } from '../../format';
import { colourOf, isVariant } from '../../palette';
import { Hatch, HATCH } from '../../parts/Hatch';
import { Heads, numbers } from '../../parts/Heads';
import { Empty, Panel } from '../../parts/Panel';
import { Swatch } from '../../parts/Swatch';
import { usePart } from '../../parts/Within';
import { SaveTools } from '../../save/SaveTools';
import { toggleCluster, useSelection } from '../../store';
import { useTheme } from '../../theme';

const ROWS = 10;

export function ClusterTable({ pack }: { pack: Pack }) {
  const [all, setAll] = useState(false);
  const theme = useTheme();
  const { clusters: chosen } = useSelection();
  const { part } = usePart();
  const losses = new Map(part?.kinds?.map((l) => [l.id, l.lost_seconds]));
  const clusters = pack.json.clusters?.clusters ?? [];
  const rest = pack.json.clusters ? unclustered(pack.json.clusters).filter((r) => r.bursts > 0) : [];
  const every = [
    ...clusters.map((c) => ({ ...c, from: c.before[0]?.name ?? '', to: c.after[0]?.name ?? '' })),
    ...rest.map((r) => ({ ...r, mean_ns: (r.seconds * 1e9) / r.bursts, std_ns: NaN, from: '', to: '' })),
  ];
  const rows = all ? every : every.filter((_, i) => i < ROWS || i >= clusters.length);
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
              rows: every.map((r) => [r.id, r.seconds, r.share, r.bursts, r.mean_ns, r.std_ns, r.score, r.from, r.to]),
            })}
          />
        ) : undefined
      }
    >
      {clusters.length === 0 ? <Empty>{pack.json.clusters ? 'No clusters were found.' : 'What clusters there are is not known: clusters.json is missing or could not be read.'}</Empty> : null}
      {rows.length > 0 ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="Clusters by time">
          <table class="clusters-by-time">
            <Heads of={['Cluster', { title: 'Share of computing time', class: 'bar' }, numbers('Time'), numbers('Bursts'), numbers('Mean'), numbers('Score', SCORE), ...(part ? [numbers('Lost', `largest less mean time of a thread in it${part.kinds === part.clusters ? '' : ' and the variants of its kind'}, within ${part.title}; more in the view Clusters`)] : []), 'From → to']} />
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
                      {isVariant(r.id) ? (
                        <>
                          <Hatch />
                          <rect width={(96 * r.share) / largest} height="9" fill={HATCH} />
                        </>
                      ) : null}
                    </svg>
                    <span class="n">{percent(r.share)}</span>
                  </td>
                  <td class="n">{seconds(r.seconds)}</td>
                  <td class="n">{count(r.bursts)}</td>
                  <td class="n">{ns(r.mean_ns)}</td>
                  <td class="n">{score(r.score)}</td>
                  {part ? <td class="n" title={Number.isFinite(losses.get(r.id)) ? undefined : whyNot(pack.json.efficiency, part, r.id)}>{seconds(losses.get(r.id) ?? NaN)}</td> : null}
                  <td class="path" title={r.from && `${r.from} → ${r.to}`}>
                    {r.from ? `${briefPath(r.from)} → ${briefPath(r.to)}` : ''}
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
