// What is selected, in words, each part with a button that lifts it.
import type { ComponentChildren } from 'preact';
import type { Pack } from '../data/pack';
import { threadsName } from '../data/names';
import { cluster, list, ns, plural } from '../format';
import { clearSelection, isSelected, select, useSelection, type Selection } from '../store';
import { Swatch } from '../parts/Swatch';
import { lineOf, modelOf, titleOf } from '../program/model';

export function SelectionBar({ pack }: { pack: Pack }) {
  const s = useSelection();
  if (!isSelected(s)) return null;
  const program = modelOf(pack);
  const line = program?.lines[lineOf(pack, s)];
  return (
    <section class="selection" aria-label="Selection">
      <span class="label">Selected</span>
      {s.clusters ? (
        <Chip lift={() => select({ clusters: null })} what="clusters">
          {s.clusters.slice(0, 3).map((id) => (
            <Swatch key={id} id={id} />
          ))}{' '}
          {s.clusters.length > 3 ? plural(s.clusters.length, 'cluster') : list(s.clusters.map(cluster))}
        </Chip>
      ) : null}
      {s.threads ? (
        <Chip lift={() => select({ threads: null })} what="ranks">
          {threadsName(pack, s.threads)}
        </Chip>
      ) : null}
      {s.fromNS !== null || s.toNS !== null ? (
        <Chip lift={() => select({ fromNS: null, toNS: null })} what="time">
          {time(s)}
        </Chip>
      ) : null}
      {program && line ? (
        <Chip lift={() => select({ line: null })} what="lines of the program">
          {line.place ? `${line.place} ` : ''}
          <code>{titleOf(program, line)}</code>
        </Chip>
      ) : null}
      {s.level !== null ? (
        <Chip lift={() => select({ level: null })} what="step of the refinement">
          coloured by step {s.level}
        </Chip>
      ) : null}
      <button type="button" class="quiet" aria-keyshortcuts="Escape" title="Lift the selection (key Esc)" onClick={clearSelection}>
        Clear all
      </button>
    </section>
  );
}

function time({ fromNS, toNS }: Selection): string {
  if (fromNS === null) return `until ${ns(toNS ?? NaN)}`;
  if (toNS === null) return `from ${ns(fromNS)}`;
  return `${ns(fromNS)} to ${ns(toNS)} (${ns(toNS - fromNS)})`;
}

function Chip({ children, lift, what }: { children: ComponentChildren; lift: () => void; what: string }) {
  return (
    <span class="chip">
      {children}
      <button type="button" class="lift" aria-label={`Select all ${what}`} onClick={lift}>
        ×
      </button>
    </span>
  );
}
