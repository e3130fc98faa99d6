// Groups of threads: the rows of the pack's rank columns. Mostly a group is one thread.
import type { Pack } from './pack';

export interface Group {
  readonly first: number; // number of a thread
  readonly last: number;
  readonly size: number;
  readonly class: number; // of its first thread, -1 = none
  readonly computing: number; // s, of one thread on average
  readonly inMPI: number; // s, likewise; NaN = not known
}

export function groupsOf(pack: Pack): Group[] {
  const computing = pack.column('rank.computing_seconds');
  const inMPI = pack.column('rank.seconds_in_mpi');
  const classes = pack.column('thread.class');
  return pack.json.groups.map(([first, last], i) => {
    const size = Math.max(1, last - first + 1);
    return {
      first,
      last,
      size,
      class: classes[first] ?? -1,
      computing: (computing[i] ?? NaN) / size,
      inMPI: (inMPI[i] ?? NaN) / size,
    };
  });
}

// secondsIn gives the computing time that a thread of each group spends in a cluster, on average, s.
export function secondsIn(pack: Pack, cluster: number): Float64Array {
  const of = new Float64Array(pack.json.groups.length);
  const groups = pack.column('heat.group');
  const clusters = pack.column('heat.cluster');
  const seconds = pack.column('heat.seconds');
  for (let i = 0; i < groups.length; i++) {
    const g = groups[i] ?? -1;
    if (clusters[i] !== cluster || g < 0 || g >= of.length) continue;
    const [first, last] = pack.json.groups[g] ?? [0, 0];
    of[g] = (of[g] ?? 0) + (seconds[i] ?? 0) / Math.max(1, last - first + 1);
  }
  return of;
}

// median is that which the reasons in the manifest name: of an even number of values the lesser of the two in the
// middle.
export function median(values: Iterable<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[(sorted.length - 1) >> 1] ?? NaN;
}

export function total(values: Iterable<number>): number {
  let sum = 0;
  for (const v of values) sum += v;
  return sum;
}
