// The critical path by what it consists of, as a bar and as tables.
import { useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { clusterOf, pathBy, type Scope } from '../data/waits';
import { locationOf, variantName, whatName, who } from '../data/waitwords';
import { percent, plural, seconds } from '../format';
import { colourOf, greyOf, inkOn, isVariant } from '../palette';
import { Hatch, HATCH } from '../parts/Hatch';
import { Panel } from '../parts/Panel';
import { hideTip, showTip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { goTo, select, useSelection } from '../store';
import { useTheme } from '../theme';
import { Listing, Share } from '../parts/Listing';
import { clustersOf, holds, threadsOf, useRanks, WhatName, whatText } from './names';

// A part gets its name where it has this share of the bar, in percent.
const LABELLED = 9;

// Below this share of the bar, in percent, a gap beside a part would be as wide as the part.
const NARROW = 0.3;

// From this share on the bar's label for screen readers names a part.
const SAID = 0.01;

export function Path({ scope: { table, within, says } }: { scope: Scope }) {
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
  const others = 1 - path.ranks.reduce((sum, r) => sum + r.share, 0);
  let x = 0;
  const placed = parts.map((p) => {
    const at = { ...p, x, width: 100 * p.share };
    let begin = x;
    const hatched = p.of.flatMap((m) => {
      const of = { x: begin, width: 100 * m.path_share };
      begin += of.width;
      return isVariant(m.cluster) ? [of] : [];
    });
    x += at.width;
    return { ...at, hatched };
  });
  const csv = () => ({ columns: ['what', 'seconds', 'share'], rows: parts.map((p) => [whatName(p), p.seconds, p.share]) });
  return (
    <>
      <Panel
        title="Critical path"
        note={
          <>
            <span title={says}>{within}</span>: {seconds(path.seconds)}, with {plural(path.changes, 'change')} of {locationOf(table)}; only what gets shorter on the path shortens the run
          </>
        }
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
          <svg width="100%" height="28" role="img" aria-label={parts.filter((p) => p.share >= SAID).map((p) => `${whatName(p)} ${percent(p.share)}`).join(', ')}>
            <Hatch />
            {placed.map((p) => {
              const id = clusterOf(p);
              const fill = id === null ? greyOf(p.what === 'MPI' ? 'mpi' : 'dropped', theme) : colourOf(id, theme);
              const clusters = clustersOf(table, p);
              const members = p.of.map((m): [string, string] => [variantName(m.cluster), `${seconds(m.path_seconds)}, ${percent(m.path_share)}`]);
              const dim = selection.clusters !== null && !holds(selection, clusters);
              return (
                <g key={whatName(p)}>
                  <rect
                    x={`${p.x}%`}
                    width={`${p.width}%`}
                    height="28"
                    fill={fill}
                    opacity={dim ? 0.25 : 1}
                    class={[clusters ? 'pick' : '', p.width < NARROW ? 'narrow' : ''].join(' ').trim()}
                    data-part={whatName(p)}
                    onClick={() => clusters && select({ clusters: holds(selection, clusters) ? null : clusters })}
                    onPointerMove={(e) => showTip({ x: e.clientX, y: e.clientY, title: whatName(p), ...(id === null ? {} : { cluster: id }), rows: [['on the critical path', seconds(p.seconds)], ['share', percent(p.share)], ...members] })}
                    onPointerLeave={hideTip}
                  />
                  {p.hatched.map((v) => (
                    <rect key={v.x} class="variant" x={`${v.x}%`} width={`${v.width}%`} y="21" height="7" fill={HATCH} />
                  ))}
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
      <div class="listings-columns">
        <Listing
          of="waits"
          table="waits.parquet"
          title="On the critical path, by cluster and call path"
          name="path-parts"
          rows={path.parts}
          total={path.parts_total}
          rest={path.rest_seconds}
          chosen={(p) => holds(selection, clustersOf(table, p))}
          pick={(p) => select({ clusters: holds(selection, clustersOf(table, p)) ? null : clustersOf(table, p) })}
          empty="Nothing is on it."
          fields={[
            { title: 'What', words: true, show: (p) => <WhatName of={p} />, csv: 'what', value: (p) => whatText(p) },
            { title: 'Call path', says: 'of computing the call that ends the burst, of MPI the call', words: true, class: 'path', show: (p) => p.call_path, hint: (p) => p.call_path, csv: 'call_path', value: (p) => p.call_path },
            { title: 'Time', show: (p) => seconds(p.seconds), csv: 'seconds', value: (p) => p.seconds },
            { title: 'Share', show: (p) => percent(p.share), csv: 'share', value: (p) => p.share },
          ]}
        />
        <Listing
          of="waits"
          table="waits.parquet"
          title="By rank"
          name="path-ranks"
          note={others > 0.0005 ? `not listed here: ${percent(others)}` : ''}
          rows={path.ranks}
          chosen={(r) => hasRank(selection, [r])}
          pick={(r) => select({ threads: hasRank(selection, [r]) ? null : threadsOf(pack, [r]) })}
          empty="Nothing is on it."
          fields={[
            { title: 'Rank', words: true, show: (r) => who(pack, table, r), csv: 'rank', value: (r) => who(pack, table, r) },
            { title: 'On the critical path', show: (r) => seconds(r.seconds), csv: 'seconds', value: (r) => r.seconds },
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
