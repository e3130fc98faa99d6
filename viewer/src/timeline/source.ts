// The timeline's data, out of a pack.
import { clusterOf, codeOf, MPI, waiting } from '../data/codes';
import type { Bins, Pack } from '../data/pack';
import type { Levels } from '../data/levels';
import type { Span } from '../draw/span';
import { at, makeLanes, type Lanes } from './lanes';
import { makeWaits, UNLIT, type Overview, type Source, type Waits } from './raster';

export function bursts(pack: Pack): Lanes {
  const start = pack.column('points.start_ns');
  const duration = pack.column('points.duration');
  return makeLanes(pack.json.threads, pack.column('points.thread'), start, (row) => start[row]! + duration[row]!);
}

export function calls(pack: Pack): Lanes {
  const exit = pack.column('calls.exit_ns');
  return makeLanes(pack.json.threads, pack.column('calls.thread'), pack.column('calls.enter_ns'), (row) => exit[row]!);
}

// gaps marks the bursts behind which the thread is in MPI: the next one follows in the same window, or nothing is left
// out at all. Where the pack has the calls themselves they show that better.
export function gaps(pack: Pack, own: Lanes, mpi: Lanes): Uint8Array {
  const window = pack.column('points.window');
  const everything = pack.json.points.count >= pack.json.points.of;
  const gap = new Uint8Array(own.item.length);
  for (let t = 0; t + 1 < own.first.length; t++) {
    for (let k = own.first[t]!; k + 1 < own.first[t + 1]!; k++) {
      const here = window[own.item[k]!] ?? -1;
      const follows = everything || (here >= 0 && here === window[own.item[k + 1]!]);
      if (follows && own.start[k + 1]! > own.end[k]! && at(mpi, t, (own.end[k]! + own.start[k + 1]!) / 2) < 0 && at(mpi, t, own.end[k]!) < 0) gap[k] = 1;
    }
  }
  return gap;
}

// overview gives the cells with the codes of the level that is shown.
export function overview(pack: Pack, coded: (code: number) => number): Overview | null {
  const place = pack.json.overview;
  const cell = pack.column('overview.cell');
  if (!place || !(place.bins > 0) || !(place.to_ns > place.from_ns) || cell.length < place.bins * place.rows.length) return null;
  return cells({ place, cell, share: pack.column('overview.share'), wait: pack.column('overview.wait') }, pack.json.threads, coded);
}

// rowOf gives the row of each thread, of rows with these first and last threads; -1 = none.
export function rowOf(rows: readonly (readonly [number, number])[], threads: number): Int32Array {
  const of = new Int32Array(threads).fill(-1);
  rows.forEach(([first, last], row) => of.fill(row, Math.max(0, first), Math.max(0, last + 1)));
  return of;
}

export function cells({ place, cell, share, wait }: Bins, threads: number, coded: (code: number) => number): Overview {
  return { time: { from: place.from_ns, to: place.to_ns }, bins: place.bins, rowOf: rowOf(place.rows, threads), cell: Uint32Array.from(cell, (code, i) => (code === MPI && wait[i] ? waiting(wait[i]) : coded(code))), share };
}

// waits gives what calls wait, or null where none does.
export function waits(pack: Pack, own: Lanes): Waits | null {
  const call = pack.column('waits.call');
  if (call.length === 0) return null;
  const of = new Int32Array(pack.json.detail.calls).fill(-1);
  for (let i = 0; i < call.length; i++) if (call[i]! >= 0 && call[i]! < of.length) of[call[i]!] = i;
  return makeWaits(own, of, pack.column('waits.kind'), pack.column('waits.ns'));
}

// kindsOf lists the kinds of waits that the drawing may show.
export function kindsOf(pack: Pack): number[] {
  const found = new Set<number>();
  for (const name of ['waits.kind', 'overview.wait']) for (const kind of pack.column(name)) found.add(kind);
  found.delete(0);
  return [...found].sort((a, b) => a - b);
}

// coder gives the code of a code of the overview, which is of the answer's clusters, at the level that is shown.
export function coder(levels: Levels, lit: Lit): (code: number) => number {
  const known = new Map<number, number>();
  return (code) => {
    let to = known.get(code);
    if (to === undefined) {
      const cluster = clusterOf(code);
      to = ((cluster > 0 ? codeOf(levels.fromCluster.get(cluster) ?? cluster) : code) | (lit && !lit.includes(cluster) ? UNLIT : 0)) >>> 0;
      known.set(code, to);
    }
    return to;
  };
}

type Lit = readonly number[] | null; // clusters that are selected, null = all

export function codes(pack: Pack, levels: Levels, lit: Lit, own?: Uint8Array): Uint32Array {
  const cluster = pack.column('points.cluster');
  const dark = lit || own ? Uint8Array.from(cluster, (id, i) => ((!lit || lit.includes(id)) && own?.[i] !== 0 ? 0 : 1)) : null;
  return Uint32Array.from(levels.labels, (label, i) => (codeOf(label) | (dark?.[i] ? UNLIT : 0)) >>> 0);
}

// wholeTime is what there is to see, from the first to the last of everything.
export function wholeTime(pack: Pack, source: Pick<Source, 'bursts' | 'calls'>): Span {
  const o = pack.json.overview;
  let from = o && o.to_ns > o.from_ns ? o.from_ns : Infinity;
  let to = o && o.to_ns > o.from_ns ? o.to_ns : -Infinity;
  for (const lanes of [source.bursts, source.calls]) {
    for (let t = 0; t + 1 < lanes.first.length; t++) {
      const [first, next] = [lanes.first[t]!, lanes.first[t + 1]!];
      if (first === next) continue;
      from = Math.min(from, lanes.start[first]!);
      to = Math.max(to, lanes.reach[next - 1]!);
    }
  }
  return from < to ? { from, to } : { from: 0, to: 1 };
}
