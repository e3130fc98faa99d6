// What lies under a place of the timeline.
import { clusterOf } from '../data/codes';
import type { Span } from '../draw/span';
import { at, firstStarted } from './lanes';
import { plain, type Overview, type Source } from './raster';

export type What =
  | { kind: 'burst'; row: number; time: Span }
  | { kind: 'call'; row: number; time: Span }
  | { kind: 'mpi'; time: Span } // between two bursts, its calls are not in the pack
  | { kind: 'cell'; cluster: number; code: number; share: number; time: Span; coarse: boolean } // coarse = of the overview
  | null;

// whatAt looks for a burst, a call, MPI between bursts, a cell of the server's and one of the overview, in this order;
// `reach` is how far beside a short burst one may point, ns.
export function whatAt(source: Source, thread: number, time: number, reach: number): What {
  const { bursts, calls, gap } = source;
  const burst = at(bursts, thread, time);
  if (burst >= 0) return { kind: 'burst', row: bursts.item[burst]!, time: { from: bursts.start[burst]!, to: bursts.end[burst]! } };
  const call = at(calls, thread, time);
  if (call >= 0) return { kind: 'call', row: calls.item[call]!, time: { from: calls.start[call]!, to: calls.end[call]! } };
  const before = lastBefore(source, thread, time);
  if (before >= 0 && gap[before]) return { kind: 'mpi', time: { from: bursts.end[before]!, to: bursts.start[before + 1]! } };
  if (before >= 0 && time - bursts.end[before]! <= reach) return { kind: 'burst', row: bursts.item[before]!, time: { from: bursts.start[before]!, to: bursts.end[before]! } };
  return cellAt(source.bins, thread, time, false) ?? cellAt(source.overview, thread, time, true);
}

function cellAt(o: Overview | null, thread: number, time: number, coarse: boolean): What {
  const row = o?.rowOf[thread] ?? -1;
  if (!o || row < 0 || time < o.time.from || time >= o.time.to) return null;
  const bin = (o.time.to - o.time.from) / o.bins;
  const b = Math.min(o.bins - 1, Math.floor((time - o.time.from) / bin));
  const code = o.cell[row * o.bins + b]!;
  if (code === 0) return null;
  return { kind: 'cell', cluster: clusterOf(plain(code)), code: plain(code), share: o.share[row * o.bins + b]! / 255, time: { from: o.time.from + b * bin, to: o.time.from + (b + 1) * bin }, coarse };
}

// lastBefore is the last burst of a thread that began before a time, or -1.
export function lastBefore({ bursts }: Pick<Source, 'bursts'>, thread: number, time: number): number {
  const next = firstStarted(bursts, thread, time);
  return next > bursts.first[thread]! ? next - 1 : -1;
}
