// The profile above the timeline: how many threads are in each cluster and in MPI, over time.
import { MPI, NOTHING, waiting } from '../data/codes';
import type { Span } from '../draw/span';
import { plain } from './raster';

// A Layer is what lies on the one below.
export interface Layer {
  i: number; // of the codes,
  kind: number; // or of the kinds of waits, 0 = in MPI without waiting; -1: of the codes
  code: number;
}

// waitedOf divides what a profile, bins × codes, has of MPI, by the shares of kinds of waits, bins × kinds, 255 = all: the
// first is what remains.
export function waitedOf(codes: readonly number[], profile: ArrayLike<number>, shares: ArrayLike<number>, kinds: number): Float64Array {
  const parts = new Float64Array(shares.length);
  const mpi = codes.indexOf(MPI);
  for (let first = 0, bin = 0; first < shares.length; first += kinds, bin++) {
    const seconds = mpi < 0 ? 0 : profile[bin * codes.length + mpi]!;
    let rest = 255;
    for (let kind = 1; kind < kinds; kind++) {
      const share = Math.min(rest, shares[first + kind]!);
      parts[first + kind] = (seconds * share) / 255;
      rest -= share;
    }
    parts[first] = (seconds * rest) / 255;
  }
  return parts;
}

// layersOf orders codes from the bottom up. Clusters that are one at the level that is shown lie on each other; MPI is
// the topmost, where waits are known by kind, the waits above the rest.
export function layersOf(codes: readonly number[], kinds: number, coded: (code: number) => number): Layer[] {
  const all = codes.map((code, i) => ({ i, kind: -1, code: coded(code) })).filter(({ code }) => plain(code) !== NOTHING);
  const isMPI = ({ code }: Layer) => plain(code) === MPI;
  const below = all.filter((l) => !isMPI(l)).sort((a, b) => a.code - b.code);
  const mpi = all.filter(isMPI);
  if (kinds === 0) return [...below, ...mpi];
  return [...below, ...mpi.flatMap((l) => Array.from({ length: kinds }, (_, kind): Layer => ({ ...l, kind, code: kind > 0 ? (waiting(kind) | (l.code - MPI)) >>> 0 : l.code })))];
}

// profileOf gives, for each code and each of `width` pixels, the mean number of threads. `profile` has thread-seconds,
// bins × codes, of the time `whole`.
export function profileOf(profile: ArrayLike<number>, bins: number, codes: number, whole: Span, time: Span, width: number): Float64Array[] {
  const bin = (whole.to - whole.from) / bins;
  const rows = Array.from({ length: codes }, () => new Float64Array(width));
  for (let p = 0; p < width; p++) {
    const from = ((time.from + ((time.to - time.from) * p) / width) - whole.from) / bin;
    const to = from + (time.to - time.from) / width / bin;
    for (let b = Math.max(0, Math.floor(from)); b < Math.min(bins, to); b++) {
      const part = (Math.min(to, b + 1) - Math.max(from, b)) / (to - from);
      for (let c = 0; c < codes; c++) rows[c]![p]! += (part * profile[b * codes + c]! * 1e9) / bin;
    }
  }
  return rows;
}
