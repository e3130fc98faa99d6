// The series of instances: what each instance of a phase took, over threads.
import type { Manifest } from '../data/manifest';
import type { Pack } from '../data/pack';
import type { InstanceSeries } from '../data/profile';
import { cluster } from '../format';
import { iterationsName } from './model';

// ownerOf is whose instances a series has, as text; series with the same one belong together.
export const ownerOf = (s: InstanceSeries) => (s.iterations >= 0 ? `#${s.iterations}` : s.path.map((name) => name.replace(/[\\/]/g, '\\$&')).join('/'));

export const ownerName = (s: InstanceSeries) => (s.iterations >= 0 ? iterationsName(s.iterations) : s.path.length > 0 ? s.path.join(' / ') : 'program');

// whatOf is what of the instances a series has, as text.
export const whatOf = (s: InstanceSeries) => (s.what === 'mpi' ? s.function : s.what === 'computation' ? cluster(s.cluster) : s.what);

export const whatName = (s: InstanceSeries) => (s.what === 'whole' ? 'whole instance' : s.what === 'unrecorded' ? 'not recorded' : whatOf(s));

// A Point is an instance, or some that follow each other; times are of one instance.
export interface Point {
  readonly row: number;
  readonly first: number;
  readonly last: number;
  readonly many: number;
  readonly mean: number; // of its threads
  readonly least: number;
  readonly most: number;
  readonly whose: number;
  readonly calls: number;
  readonly sum: number; // of all threads and instances
  readonly threads: number;
}

export function pointsOf(pack: Pack, s: InstanceSeries): Point[] {
  const of = (name: string) => pack.column(`instance.${name}`);
  const [first, last, many, threads, calls] = [of('first'), of('last'), of('many'), of('threads'), of('calls')];
  const [sum, least, most, whose] = [of('sum'), of('least'), of('most'), of('whose')];
  return Array.from({ length: s.count }, (_, k) => {
    const row = s.from + k;
    return {
      row, first: first[row]!, last: last[row]!, many: many[row]!, threads: threads[row]!, calls: calls[row]!, sum: sum[row]!, least: least[row]!, most: most[row]!, whose: whose[row]!,
      mean: sum[row]! / (threads[row]! * many[row]!),
    };
  });
}

const wholeOf = (all: readonly InstanceSeries[], s: InstanceSeries) => all.find((w) => w.what === 'whole' && ownerOf(w) === ownerOf(s));

// isTimed says whether it is known of any instance when it ran.
export function isTimed(pack: Pack, all: readonly InstanceSeries[], s: InstanceSeries): boolean {
  const whole = wholeOf(all, s);
  const begin = pack.column('instance.begin_ns');
  return whole !== undefined && begin.subarray(whole.from, whole.from + whole.count).some((v) => Number.isFinite(v));
}

// timeOf is when instances ran, ns; null: it is not known. The series of whole instances has it.
export function timeOf(pack: Pack, all: readonly InstanceSeries[], s: InstanceSeries, first: number, last: number): [number, number] | null {
  const whole = wholeOf(all, s);
  if (!whole) return null;
  const of = (name: string) => pack.column(`instance.${name}`);
  const [from, to, begin, end] = [of('first'), of('last'), of('begin_ns'), of('end_ns')];
  let time: [number, number] | null = null;
  for (let row = whole.from; row < whole.from + whole.count; row++) {
    if (to[row]! < first || from[row]! > last || !Number.isFinite(begin[row]!) || !Number.isFinite(end[row]!)) continue;
    time = [Math.min(time?.[0] ?? Infinity, begin[row]!), Math.max(time?.[1] ?? -Infinity, end[row]!)];
  }
  return time;
}

// keptOf says of a time whether calls of it are in full detail: all windows that have a part of it.
export function keptOf(m: Manifest | null, [from, to]: readonly [number, number]): boolean {
  const windows = m?.kept.windows ?? [];
  return windows.length === 0 || windows.some((w) => w.begin_ns < to && w.end_ns > from);
}

export const NOT_KEPT = 'No window of that time was kept: the timeline shows it as overview.';

// Drawn is what a pixel shows.
interface Drawn {
  readonly middle: number;
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  readonly of: readonly Point[];
}

// perPixel puts points of one pixel together: the least, the most and the mean of all.
export function perPixel(points: readonly Point[], pixel: (p: Point) => number): Drawn[] {
  const drawn: Drawn[] = [];
  for (let k = 0; k < points.length; ) {
    const of: Point[] = [];
    const here = pixel(points[k]!);
    while (k < points.length && pixel(points[k]!) === here) of.push(points[k++]!);
    const many = of.reduce((n, p) => n + p.many, 0);
    drawn.push({
      middle: (of[0]!.first + of.at(-1)!.last) / 2,
      least: of.reduce((m, p) => Math.min(m, p.least), Infinity),
      most: of.reduce((m, p) => Math.max(m, p.most), 0),
      mean: of.reduce((sum, p) => sum + p.mean * p.many, 0) / many,
      of,
    });
  }
  return drawn;
}
