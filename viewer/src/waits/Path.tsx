// The critical path by what it consists of, as a bar and as tables.
import { useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { clusterOf, pathBy, type Table } from '../data/waits';
import { percent, plural, seconds } from '../format';
import { colourOf, greyOf, inkOn, isVariant } from '../palette';
import { Hatch, HATCH } from '../parts/Hatch';
import { Panel } from '../parts/Panel';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { goTo, select, useSelection } from '../store';
import { useTheme } from '../theme';
import { Listing, Share } from './Listing';
import { clustersOf, holds, threadsOf, useRanks, whatName, WhatName, who } from './names';

// A part gets its name where it has this share of the bar, in percent.
const LABELLED = 9;

export function Path({ table }: { table: Table }) {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const hasRank = useRanks();
  const box = useRef<HTMLDivElement>(null);
  const path = table.critical_path;
  const parts = pathBy(table);
  if (parts.length === 0) {
    return (
      <Panel title="Critical path">
        <p class="note">It is not known.</p>
      </Panel>
    );
  }
  let x = 0;
  const placed = parts.map((p) => {
    const at = { ...p, x, width: 100 * p.share };
    x += at.width;
    return at;
  });
  const csv = () => ({ columns: ['what', 'seconds', 'share'], rows: parts.map((p) => [whatName(p), p.seconds, p.share]) });
  return (
    <>
      <Panel
        title="Critical path"
        note={`${seconds(path.seconds)}, changes threads ${plural(path.changes, 'time')}; only what becomes shorter on it shortens the run`}
        tools={
          <>
            <button type="button" class="link" onClick={() => goTo('timeline')}>
              Timeline
            </button>
            <SaveTools name="critical path" table={csv} picture={box} />
          </>
        }
        class="path"
      >
        <div ref={box} class="timebar">
          <svg width="100%" height="28" role="img" aria-label={parts.map((p) => `${whatName(p)} ${percent(p.share)}`).join(', ')}>
            <Hatch />
            {placed.map((p) => {
              const id = clusterOf(p);
              const fill = id === null ? greyOf(p.what === 'MPI' ? 'mpi' : 'dropped', theme) : colourOf(id, theme);
              const clusters = clustersOf(p);
              const dim = selection.clusters !== null && !holds(selection, clusters);
              return (
                <g key={whatName(p)}>
                  <rect
                    x={`${p.x}%`}
                    width={`${p.width}%`}
                    height="28"
                    fill={fill}
                    opacity={dim ? 0.25 : 1}
                    class={clusters ? 'pick' : ''}
                    data-part={whatName(p)}
                    onClick={() => clusters && select({ clusters: holds(selection, clusters) ? null : clusters })}
                    onPointerMove={(e) => showTip({ x: e.clientX, y: e.clientY, title: whatName(p), ...(id === null ? {} : { cluster: id }), rows: [['on the critical path', seconds(p.seconds)], ['share', percent(p.share)]] })}
                    onPointerLeave={hideTip}
                  />
                  {id !== null && isVariant(id) ? <rect x={`${p.x}%`} width={`${p.width}%`} y="21" height="7" fill={HATCH} /> : null}
                  {p.width > LABELLED ? (
                    <text x={`${p.x + p.width / 2}%`} y="18" fill={inkOn(fill)} opacity={dim ? 0.6 : 1}>
                      {whatName(p)} {percent(p.share)}
                    </text>
                  ) : null}
                </g>
              );
            })}
          </svg>
        </div>
      </Panel>
      <div class="waits-columns">
        <Listing
          title="On the critical path, by cluster and call path"
          name="path-parts"
          rows={path.parts}
          total={path.parts_total}
          chosen={(p) => holds(selection, clustersOf(p))}
          pick={(p) => select({ clusters: holds(selection, clustersOf(p)) ? null : clustersOf(p) })}
          empty="Nothing is on it."
          fields={[
            { title: 'What', words: true, show: (p) => <WhatName of={p} />, csv: 'what', value: whatName },
            { title: 'Call path', says: 'of computing the call that ends the burst, of MPI the call', words: true, class: 'path', show: (p) => p.call_path, hint: (p) => p.call_path, csv: 'call_path', value: (p) => p.call_path },
            { title: 'Time', show: (p) => seconds(p.seconds), csv: 'seconds', value: (p) => p.seconds },
            { title: 'Share', show: (p) => percent(p.share), csv: 'share', value: (p) => p.share },
          ]}
        />
        <Listing
          title="By rank"
          name="path-ranks"
          rows={path.ranks}
          chosen={(r) => hasRank(selection, [r])}
          pick={(r) => select({ threads: hasRank(selection, [r]) ? null : threadsOf(pack, [r]) })}
          empty="Nothing is on it."
          fields={[
            { title: 'Rank', words: true, show: (r) => who(pack, r), csv: 'rank', value: (r) => who(pack, r) },
            { title: 'On the path', show: (r) => seconds(r.seconds), csv: 'seconds', value: (r) => r.seconds },
            {
              title: 'Share',
              show: (r) => <Share of={r.share} />,
              csv: 'share',
              value: (r) => r.share,
            },
          ]}
        />
      </div>
    </>
  );
}
