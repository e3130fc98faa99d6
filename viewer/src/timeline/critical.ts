// The critical path as a line over the threads: level where it is on one, upright where it goes on to another. Where its
// legs are not in the page it is that of the overview, by bins.
import { PATH_ROWS, type Pack } from '../data/pack';
import { length, type Span } from '../draw/span';
import { makeLanes, type Lanes } from './lanes';
import type { Place } from './paint';
import { rowOf } from './source';

export interface Critical {
  thread: ArrayLike<number>; // of each leg, in the order of time
  begin: ArrayLike<number>;
  end: Float64Array;
  lanes: Lanes;
  coarse: Coarse | null; // null: the legs are all of it, or the overview does not have it
  known: boolean; // of all of the overview's time
}

// A Coarse is how much of the time of a bin the path is on the threads of a row, for bins that legs do not fill.
export interface Coarse {
  from: number; // of the first bin, ns
  each: number; // ns
  bin: number[]; // of each part, in their order
  row: number[];
  share: number[]; // 0-1
  rows: readonly (readonly [number, number])[]; // first and last thread
  rowOf: Int32Array; // of each thread, -1 = none
}

const FULL = 0.999; // of a bin: its legs are all of it

function coarse(pack: Pack, thread: ArrayLike<number>, begin: ArrayLike<number>, end: Float64Array): { coarse: Coarse | null; known: boolean } {
  const place = pack.json.overview;
  if (!place || !(place.bins > 0) || !(place.to_ns > place.from_ns)) return { coarse: null, known: thread.length > 0 };
  const each = (place.to_ns - place.from_ns) / place.bins;
  const known = new Float64Array(place.bins); // ns of legs
  for (let i = 0; i < thread.length; i++) {
    for (let b = Math.max(0, Math.floor((begin[i]! - place.from_ns) / each)); b < place.bins; b++) {
      const from = place.from_ns + b * each;
      if (from >= end[i]!) break;
      known[b]! += Math.max(0, Math.min(end[i]!, from + each) - Math.max(begin[i]!, from));
    }
  }
  const [row, share] = [pack.column('overview.path.row'), pack.column('overview.path.share')];
  const binOf = (i: number) => Math.floor(i / PATH_ROWS);
  const parts = Array.from({ length: row.length }, (_, i) => i).filter((i) => share[i]! > 0 && place.rows[row[i]!] !== undefined && known[binOf(i)]! < FULL * each);
  const there = new Set(parts.map(binOf));
  const all = known.every((ns, b) => there.has(b) || ns >= FULL * each);
  if (parts.length === 0) return { coarse: null, known: all };
  return { coarse: { from: place.from_ns, each, bin: parts.map(binOf), row: parts.map((i) => row[i]!), share: parts.map((i) => share[i]! / 255), rows: place.rows, rowOf: rowOf(place.rows, pack.json.threads) }, known: all };
}

// around gives the first part of a bin or of those behind it.
function around({ bin }: Coarse, wanted: number): number {
  let [low, high] = [0, bin.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bin[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// coarselyAt gives what a thread's row has of the path in the bin of a time; null: nothing that is known.
export function coarselyAt(c: Coarse, thread: number, time: number): { share: number; time: Span; threads: number } | null {
  const wanted = Math.floor((time - c.from) / c.each);
  const row = c.rowOf[thread] ?? -1;
  for (let i = around(c, wanted); i < c.bin.length && c.bin[i] === wanted; i++) {
    if (c.row[i] !== row) continue;
    const [first, last] = c.rows[row]!;
    return { share: c.share[i]!, time: { from: c.from + wanted * c.each, to: c.from + (wanted + 1) * c.each }, threads: last - first + 1 };
  }
  return null;
}

// critical gives the critical path, or null where it is not known.
export function critical(pack: Pack): Critical | null {
  const thread = pack.column('critical.thread');
  const begin = pack.column('critical.begin_ns');
  const ns = pack.column('critical.ns');
  const end = Float64Array.from(begin, (b, i) => b + ns[i]!);
  const by = coarse(pack, thread, begin, end);
  if (thread.length === 0 && !by.coarse) return null;
  return { thread, begin, end, lanes: makeLanes(pack.json.threads, thread, begin, (row) => end[row]!), ...by };
}

// next is the thread to which the path goes at the end of a leg; -1: it ends there, or what follows is not here.
export function next(path: Critical, leg: number): number {
  return leg + 1 < path.thread.length && path.begin[leg + 1]! - path.end[leg]! < 1 ? path.thread[leg + 1]! : -1;
}

const COLUMN = 8; // pixels, in which
const MOST = 3; // changes of threads can be distinguished
const CROWDED = 0.45; // how much of its colour a stripe has that stands for more of them

interface Line {
  changes: number; // of threads, in view
  drawn: number; // of those
  coarse: number; // parts of bins
}

interface Look {
  colour: string;
  halo: string; // round it, so that it is seen on any colour
}

// Stripes stand for changes that are too close together: by column, the threads or rows between which the path changes.
type Stripes = Map<number, Span>;

function widen(stripes: Stripes, x: number, ...places: number[]): void {
  const column = Math.floor(x / COLUMN);
  const s = stripes.get(column);
  stripes.set(column, { from: Math.min(s?.from ?? Infinity, ...places), to: Math.max(s?.to ?? -Infinity, ...places) });
}

function paintStripes(context: CanvasRenderingContext2D, stripes: Stripes, y: (place: number) => number, colour: string): void {
  context.fillStyle = colour;
  context.globalAlpha = CROWDED;
  for (const [column, s] of stripes) context.fillRect((column + 0.25) * COLUMN, y(s.from), COLUMN / 2, y(s.to) - y(s.from));
}

// paintCritical draws the legs in view. Of legs shorter than a pixel each pixel shows how much of it each thread has;
// changes of threads are lines where they can be distinguished, elsewhere a paler stripe for several.
export function paintCritical(context: CanvasRenderingContext2D, path: Critical, time: Span, place: Place, width: number, { colour, halo }: Look, ratio: number): Line {
  const pixels = width / length(time);
  const x = (ns: number) => (ns - time.from) * pixels;
  const y = (thread: number) => (thread + 0.5 - place.rows.from) * place.rowHeight;
  const seen = (thread: number) => thread + 1 > place.rows.from && thread < place.rows.to;
  const wide = Math.min(2.5 * ratio, Math.max(1, place.rowHeight / 3));
  const coarse = path.coarse ? paintCoarse(context, path.coarse, time, place, width, wide, { colour, halo }, ratio) : 0;
  const [from, to] = inTime(path, time);
  const level = new Path2D();
  const short = new Map<number, Float32Array>();
  const changes: { x: number; from: number; to: number }[] = [];
  const crowd = new Map<number, number>();
  for (let i = from; i < to; i++) {
    const thread = path.thread[i]!;
    const [left, right] = [x(path.begin[i]!), x(path.end[i]!)];
    if (seen(thread)) {
      if (right - left >= 1) {
        level.moveTo(Math.max(-9, left), y(thread));
        level.lineTo(Math.min(width + 9, right), y(thread));
      } else {
        let cover = short.get(thread);
        if (!cover) short.set(thread, (cover = new Float32Array(width + 1)));
        const p = Math.floor(Math.max(0, left));
        if (p <= width) cover[p]! += right - left;
      }
    }
    const to = next(path, i);
    if (to < 0 || to === thread || (!seen(thread) && !seen(to)) || right < 0 || right > width) continue;
    const column = Math.floor(right / COLUMN);
    crowd.set(column, (crowd.get(column) ?? 0) + 1);
    changes.push({ x: right, from: thread, to });
  }
  let apart = 0;
  const together: Stripes = new Map();
  for (const c of changes) {
    if (crowd.get(Math.floor(c.x / COLUMN))! <= MOST) {
      apart++;
      level.moveTo(c.x, y(c.from));
      level.lineTo(c.x, y(c.to));
      continue;
    }
    widen(together, c.x, c.from, c.to);
  }
  context.lineCap = 'square';
  for (const [style, lineWidth] of [[halo, wide + 2 * ratio], [colour, wide]] as const) {
    context.strokeStyle = style;
    context.lineWidth = lineWidth;
    context.stroke(level);
  }
  context.lineCap = 'butt';
  paintStripes(context, together, y, colour);
  for (const [thread, cover] of short) {
    for (let p = 0; p < cover.length; p++) {
      if (cover[p] === 0) continue;
      context.globalAlpha = Math.min(1, Math.max(0.25, cover[p]!));
      context.fillRect(p, y(thread) - wide / 2, 1, wide);
    }
  }
  context.globalAlpha = 1;
  return { changes: changes.length, drawn: apart, coarse };
}

const FAINT = 0.35; // the least of its colour that a part of a bin has

// paintCoarse draws the parts of bins in view, and returns how many. A part has as much of the colour as it has of its
// bin; between rows that the path is on in a bin, or goes to from the one before, is a stripe.
function paintCoarse(context: CanvasRenderingContext2D, c: Coarse, time: Span, place: Place, width: number, wide: number, { colour, halo }: Look, ratio: number): number {
  const pixels = width / length(time);
  const x = (bin: number) => (c.from + bin * c.each - time.from) * pixels;
  const y = (row: number) => ((c.rows[row]![0] + c.rows[row]![1] + 1) / 2 - place.rows.from) * place.rowHeight;
  const from = around(c, Math.floor((time.from - c.from) / c.each));
  const together: Stripes = new Map();
  const part = (i: number, more: number) => {
    const left = Math.round(x(c.bin[i]!));
    context.fillRect(left, y(c.row[i]!) - wide / 2 - more, Math.max(1, Math.round(x(c.bin[i]! + 1)) - left), wide + 2 * more);
  };
  let to = from;
  let [before, bin, at] = [[] as number[], -1, [] as number[]];
  for (; to < c.bin.length && x(c.bin[to]!) <= width; to++) {
    if (c.bin[to] !== bin) {
      [before, at] = [c.bin[to] === bin + 1 ? at : [], []];
      bin = c.bin[to]!;
    }
    at.push(c.row[to]!);
    const rows = before.some((row) => at.includes(row)) ? at : [...at, ...before];
    if (rows.length > 1) widen(together, x(bin), ...rows);
  }
  paintStripes(context, together, y, colour);
  for (const [style, more] of [[halo, ratio], [colour, 0]] as const) {
    context.fillStyle = style;
    for (let i = from; i < to; i++) {
      context.globalAlpha = Math.max(FAINT, c.share[i]!);
      part(i, more);
    }
  }
  context.globalAlpha = 1;
  return to - from;
}

// inTime gives the legs that a time has something of: they follow each other.
function inTime(path: Critical, time: Span): [from: number, to: number] {
  let from = 0;
  while (from < path.begin.length && path.end[from]! < time.from) from++;
  let to = from;
  while (to < path.begin.length && path.begin[to]! <= time.to) to++;
  return [from, to];
}
