// The profile above the timeline: how many threads are in each cluster and in MPI, over time.

import type { Span } from '../draw/span';

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
