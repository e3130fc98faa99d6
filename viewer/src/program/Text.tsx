// The text of the program: a line a row, with bars of time and figures in columns.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { bytes, cluster, count, ns, percent, plural } from '../format';
import { Swatch } from '../parts/Swatch';
import { isBlock, type Line, type Model } from './model';

interface Props {
  readonly m: Model;
  readonly shown: readonly number[];
  readonly open: (at: number) => boolean;
  readonly marked: number; // -1 = none
  readonly selected: number; // likewise
  readonly lit: (at: number) => boolean; // it has bursts of the selected clusters
  readonly dim: (at: number) => boolean; // no selected rank runs it
  readonly found: ReadonlySet<number>;
  readonly toggle: (at: number) => void;
  readonly pick: (at: number) => void;
  readonly move: (at: number) => void;
  readonly trip: () => void;
}

const rowID = (at: number) => `program-line-${at}`;
const PAGE = 20; // lines

// The share is called otherwise than that of moriens structure, which is of computing alone.
const SHARE = 'Of time';
const COLUMNS = [
  ['line', 'Line'],
  ['program', 'Program'],
  ['time', 'Time'],
  ['share', SHARE],
  ['calls', 'Calls'],
  ['mean', 'Mean'],
  ['bytes', 'Bytes'],
  ['clusters', 'Clusters'],
] as const;
const SAYS: Readonly<Record<string, string>> = {
  Line: 'file and line of the source',
  Time: 'of all ranks: computing, then MPI',
  [SHARE]: 'share of the time of all ranks in computing and in MPI',
  Calls: 'of MPI, and of recursion; of compute: bursts',
  Mean: 'time of a call of MPI, or of a burst',
  Bytes: 'of a call',
};

export function Text({ m, shown, open, marked, selected, lit, dim, found, toggle, pick, move, trip }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const place = useMemo(() => new Map(shown.map((at, k) => [at, k])), [shown]);
  useEffect(() => {
    if (marked >= 0) document.getElementById(rowID(marked))?.scrollIntoView({ block: 'nearest' });
  }, [marked, shown]);
  const press = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== e.currentTarget) return;
    const k = place.get(marked) ?? -1;
    const line = m.lines[marked];
    const to = (next: number) => {
      const at = shown[Math.max(0, Math.min(shown.length - 1, next))];
      if (at !== undefined) move(at);
    };
    const keys: Record<string, () => void> = {
      ArrowDown: () => to(k + 1),
      ArrowUp: () => to(k < 0 ? 0 : k - 1),
      PageDown: () => to(k + PAGE),
      PageUp: () => to(k - PAGE),
      Home: () => to(0),
      End: () => to(shown.length - 1),
      ArrowRight: () => {
        if (line && isBlock(line) && !open(marked)) toggle(marked);
        else if (line && isBlock(line)) to(k + 1);
      },
      ArrowLeft: () => {
        if (line && isBlock(line) && open(marked)) toggle(marked);
        else if (line && line.up >= 0) move(line.up);
      },
      ' ': () => {
        if (line && isBlock(line)) toggle(marked);
      },
      Enter: () => {
        if (line) pick(marked);
      },
      t: trip,
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]!();
    e.preventDefault();
    e.stopPropagation();
  };
  const total = m.computeNS + m.mpiNS;
  const deepest = shown.reduce((most, at) => Math.max(most, m.lines[at]!.depth), 1);
  return (
    <div ref={box} class="program-text" style={{ '--deepest': deepest, ...(m.lines.some((l) => l.place) ? {} : { '--place': '4ch' }) }} role="treegrid" aria-label="Program" aria-readonly tabIndex={0} aria-activedescendant={place.has(marked) ? rowID(marked) : undefined} onKeyDown={press}>
      <div class="program-row head" role="row">
        {COLUMNS.map(([column, title]) => (
          <span key={title} class={`c-${column}`} role="columnheader" title={SAYS[title]}>
            {title}
          </span>
        ))}
      </div>
      {shown.map((at) => (
        <Row key={at} line={m.lines[at]!} total={total} open={open(at)} marked={at === marked} selected={at === selected} lit={lit(at)} dim={dim(at)} found={found.has(at)} toggle={toggle} pick={pick} focus={() => box.current?.focus({ preventScroll: true })} />
      ))}
    </div>
  );
}

interface RowProps {
  readonly line: Line;
  readonly total: number;
  readonly open: boolean;
  readonly marked: boolean;
  readonly selected: boolean;
  readonly lit: boolean;
  readonly dim: boolean;
  readonly found: boolean;
  readonly toggle: (at: number) => void;
  readonly pick: (at: number) => void;
  readonly focus: () => void;
}

function Row({ line: l, total, open, marked, selected, lit, dim, found, toggle, pick, focus }: RowProps) {
  const n = l.node;
  const block = isBlock(l);
  const states = [marked ? 'marked' : '', selected ? 'selected' : '', lit ? 'lit' : '', dim ? 'dim' : '', found ? 'found' : ''].filter(Boolean).join(' ');
  const sum = l.computeNS + l.mpiNS;
  const mean = n.kind === 'mpi' ? n.mpi_ns / n.count : n.kind === 'compute' ? n.mean_ns : NaN;
  const fold = (e: MouseEvent) => {
    e.stopPropagation();
    toggle(l.at);
    focus();
  };
  return (
    <div id={rowID(l.at)} class={`program-row ${states}`} role="row" aria-level={l.depth + 1} aria-expanded={block ? open : undefined} aria-selected={marked} data-kind={n.kind} data-id={n.id} onClick={() => { pick(l.at); focus(); }}>
      <span class="c-line" role="gridcell" title={n.file ? `${n.file}${n.line > 0 ? `:${n.line}` : ''}` : undefined}>
        <Place place={l.place} />
      </span>
      <span class="c-program" role="gridcell" title={l.text} style={{ '--depth': l.depth }}>
        <span class="fold" aria-hidden="true" onClick={block ? fold : undefined}>
          {block ? (open ? '▾' : '▸') : ''}
        </span>
        <code>
          {l.words.map((w, i) => (
            <span key={i} class={`w-${w.what}`}>
              {w.text}
            </span>
          ))}
          {block && !open ? <span class="w-remark"> … {plural(l.end - l.at - 1, 'line')}</span> : null}
        </code>
      </span>
      <span class="c-time" role="gridcell">
        <Bar compute={l.computeNS / total} mpi={l.mpiNS / total} />
      </span>
      <span class="c-share" role="gridcell">
        {sum > 0 ? percent(sum / total) : ''}
      </span>
      <span class="c-calls" role="gridcell">
        {['mpi', 'compute', 'recursion'].includes(n.kind) && n.count > 0 ? count(n.count) : ''}
      </span>
      <span class="c-mean" role="gridcell">
        {Number.isFinite(mean) ? ns(mean) : ''}
      </span>
      <span class="c-bytes" role="gridcell">
        {n.bytes ? (n.bytes.least === n.bytes.most ? bytes(n.bytes.most) : `${bytes(n.bytes.least)}–${bytes(n.bytes.most)}`) : ''}
      </span>
      <span class="c-clusters" role="gridcell" title={n.clusters.map((c) => `${cluster(c.cluster)}: ${percent(c.share)}`).join(', ') || undefined}>
        {n.clusters.slice(0, 3).map((c) => (
          <span key={c.cluster}>
            <Swatch id={c.cluster} /> {c.cluster > 0 ? c.cluster : '–'}{' '}
          </span>
        ))}
        {n.clusters.length > 3 ? '…' : ''}
      </span>
    </div>
  );
}

// Place is a file, which is cut where there is no room, and the number of a line, which never is.
function Place({ place }: { place: string }) {
  const [number = ''] = /:\d+$/.exec(place) ?? [];
  return (
    <>
      <span class="file" style={{ '--number': number.length }}>
        {place.slice(0, place.length - number.length)}
      </span>
      <span>{number}</span>
    </>
  );
}

const WIDE = 84; // px of a bar

function Bar({ compute, mpi }: { compute: number; mpi: number }) {
  const [a, b] = [compute || 0, mpi || 0].map((part) => Math.min(1, Math.max(0, part)) * WIDE) as [number, number];
  return (
    <svg class="timeshare" width={WIDE} height="10" aria-hidden="true">
      <rect class="track" width={WIDE} height="10" />
      <rect class="compute" width={a} height="10" />
      <rect class="mpi" x={a} width={b} height="10" />
    </svg>
  );
}
