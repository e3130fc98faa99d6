// The trips of a loop that the page's calls show, on one thread.
import type { Pack } from '../data/pack';
import type { Span } from '../draw/span';
import { calls as callsOf } from '../timeline/source';
import { makeLanes, type Lanes } from '../timeline/lanes';
import type { Model } from './model';

export interface Trips {
  readonly thread: number;
  readonly trips: readonly Span[];
}

const lanes = new WeakMap<Pack, Lanes>();

function lanesOf(pack: Pack): Lanes {
  let found = lanes.get(pack);
  if (!found) lanes.set(pack, (found = pack.json.detail.calls > 0 ? callsOf(pack) : makeLanes(pack.json.threads, [], [], () => 0)));
  return found;
}

// unitsOf numbers, by call path, the parts of a loop's body: an MPI call outside of loops within, or one of these. The
// first part that each trip has begins a trip.
function unitsOf(m: Model, at: number): { unit: Map<number, number>; first: number } {
  const unit = new Map<number, number>();
  let first = -1;
  let spare = -1; // the first one, though it is under a condition
  const { end } = m.lines[at]!;
  for (let i = at + 1; i < end; i++) {
    const { node } = m.lines[i]!;
    if (node.kind !== 'mpi' || node.paths.length === 0) continue;
    let [own, conditional] = [i, false];
    for (let up = m.lines[i]!.up; up > at; up = m.lines[up]!.up) {
      const { kind } = m.lines[up]!.node;
      if (kind === 'loop') own = up;
      if (kind === 'if') conditional = true;
    }
    for (const path of node.paths) unit.set(path, own);
    if (spare < 0) spare = own;
    if (!conditional && first < 0) first = own;
  }
  return { unit, first: first < 0 ? spare : first };
}

// tripsOf gives the trips of a loop on the first of some threads that has calls of it; null: the page has none.
export function tripsOf(pack: Pack, m: Model, at: number, threads: (thread: number) => boolean): Trips | null {
  if (!m.joined) return null;
  const { unit, first } = unitsOf(m, at);
  if (first < 0) return null;
  const l = lanesOf(pack);
  const path = pack.column('calls.path');
  const windows = (pack.json.manifest?.kept.windows ?? []).map((w) => ({ from: w.begin_ns, to: w.end_ns }));
  // Between two calls that no window has both, something is left out.
  const near = (from: number, to: number) => windows.length === 0 || windows.some((w) => w.from <= from && w.to >= to);
  for (let thread = 0; thread < pack.json.threads; thread++) {
    if (!threads(thread)) continue;
    const trips: Span[] = [];
    let before = -1; // part of the call before, in this loop
    for (let k = l.first[thread]!; k < l.first[thread + 1]!; k++) {
      const called = path[l.item[k]!] ?? -1;
      const own = unit.get(called) ?? -1;
      const apart = k === l.first[thread]! || !near(l.end[k - 1]!, l.start[k]!);
      if (apart) before = -1;
      const begins = own === first && (before !== own || m.lines[own]!.node.kind === 'mpi');
      if (begins) trips.push({ from: apart ? l.start[k]! : l.end[k - 1]!, to: l.end[k]! });
      else if (own >= 0 && before >= 0 && trips.length > 0) trips[trips.length - 1]!.to = l.end[k]!;
      if (own >= 0) before = begins || before >= 0 ? own : -1;
      else if (m.ofPath.has(called)) before = -1; // the loop is left
    }
    if (trips.length > 0) return { thread, trips };
  }
  return null;
}
