// Where the time of all ranks went, as one bar: clusters by time, what is in no cluster, MPI.
import { useRef } from 'preact/hooks';
import { total } from '../../data/groups';
import { unclustered } from '../../data/clusters';
import type { Pack } from '../../data/pack';
import { cluster as clusterName, percent, seconds } from '../../format';
import { colourOf, greyOf, inkOn, isVariant } from '../../palette';
import { Hatch, HATCH } from '../../parts/Hatch';
import { Panel } from '../../parts/Panel';
import { hideTip, showTip } from '../../parts/tooltip';
import { SaveTools } from '../../save/SaveTools';
import { toggleCluster, useSelection } from '../../store';
import { useTheme } from '../../theme';

// A part gets its name where it has this share of the bar, in percent.
const LABELLED = 9;

interface Part {
  readonly id: number | 'mpi';
  readonly name: string;
  readonly seconds: number;
}

// partsOf gives the parts of the ranks' time, s; those without any are left out.
function partsOf(pack: Pack): Part[] {
  const c = pack.json.clusters;
  if (!c) return [];
  const parts: Part[] = [
    ...[...c.clusters, ...unclustered(c)].map((k) => ({ id: k.id, name: clusterName(k.id), seconds: k.seconds })),
    { id: 'mpi', name: 'MPI', seconds: total(pack.column('rank.seconds_in_mpi')) },
  ];
  return parts.filter((p) => p.seconds > 0);
}

export function TimeBar({ pack }: { pack: Pack }) {
  const theme = useTheme();
  const selection = useSelection();
  const box = useRef<HTMLDivElement>(null);
  const parts = partsOf(pack);
  const all = total(parts.map((p) => p.seconds));
  if (!(all > 0)) return null;
  const explained = total(parts.filter((p) => typeof p.id === 'number' && p.id > 0).map((p) => p.seconds)) / (pack.json.clusters?.total.seconds ?? NaN);
  let x = 0;
  const placed = parts.map((p) => {
    const at = { ...p, x, width: (100 * p.seconds) / all };
    x += at.width;
    return at;
  });
  return (
    <Panel
      title="Time of all ranks"
      note={`whole run, ${seconds(all)}; clusters explain ${percent(explained)} of the computing time`}
      tools={<SaveTools name="time" picture={box} table={() => ({ columns: ['part', 'seconds', 'share'], rows: parts.map((p) => [p.name, p.seconds, p.seconds / all]) })} />}
    >
      <div ref={box} class="timebar">
        <svg width="100%" height="28" role="img" aria-label={parts.map((p) => `${p.name} ${percent(p.seconds / all)}`).join(', ')}>
          <Hatch />
          {placed.map((p) => {
            const { id } = p;
            const dim = selection.clusters !== null && (id === 'mpi' || !selection.clusters.includes(id));
            const fill = id === 'mpi' ? greyOf('mpi', theme) : colourOf(id, theme);
            return (
              <g key={p.name}>
                <rect
                  x={`${p.x}%`}
                  width={`${p.width}%`}
                  height="28"
                  data-part={id}
                  fill={fill}
                  opacity={dim ? 0.25 : 1}
                  class={id === 'mpi' ? '' : 'pick'}
                  onClick={() => id !== 'mpi' && toggleCluster(id, true)}
                  onPointerMove={(e) =>
                    showTip({
                      x: e.clientX,
                      y: e.clientY,
                      title: p.name,
                      ...(id === 'mpi' ? {} : { cluster: id }),
                      rows: [
                        ['time of all ranks', seconds(p.seconds)],
                        ['share', percent(p.seconds / all)],
                      ],
                    })
                  }
                  onPointerLeave={hideTip}
                />
                {typeof id === 'number' && isVariant(id) ? <rect x={`${p.x}%`} width={`${p.width}%`} y="21" height="7" fill={HATCH} /> : null}
                {p.width > LABELLED ? (
                  <text x={`${p.x + p.width / 2}%`} y="18" fill={inkOn(fill)} opacity={dim ? 0.6 : 1}>
                    {p.name} {percent(p.seconds / all)}
                  </text>
                ) : null}
              </g>
            );
          })}
        </svg>
      </div>
    </Panel>
  );
}
