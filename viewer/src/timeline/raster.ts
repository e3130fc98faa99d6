// The timeline as an image of codes: a column a pixel, a line for each thread, or for several where there are more
// threads than pixels.
import { CHOSEN, kindOf, MPI, NOTHING, waiting } from '../data/codes';
import type { Span } from '../draw/span';
import { firstAfter, firstStarted, type Lanes } from './lanes';

// A pixel with this bit is of the overview: what took much of a longer stretch.
export const COARSE = 0x80000000;
// One with this bit is not selected.
export const UNLIT = 0x40000000;
const FLAGS = COARSE | UNLIT;

export const plain = (code: number) => (code & ~FLAGS) >>> 0;

const inMPI = (code: number) => code === MPI || kindOf(code) > 0;

export interface Overview {
  time: Span;
  bins: number;
  rowOf: Int32Array; // thread → row of cells, -1 = none
  cell: Uint32Array; // codes, row by row
  share: ArrayLike<number>;
}

export interface Source {
  threads: number;
  overview: Overview | null;
  bins: Overview | null; // of a part, from the server
  bursts: Lanes;
  code: Uint32Array; // of each row of the pack's points
  gap: Uint8Array; // of each of `bursts`: 1 = the thread is in MPI from its end to the start of the next
  calls: Lanes;
  waits: Waits | null;
  chosen?: Uint8Array | null; // by the call's row in the pack: 1 = of the selected line of the program
}

// Waits are those of calls.
export interface Waits {
  of: Int32Array; // by the call's row in the pack: row of the wait; -1 = the call does not wait
  until: Float64Array; // of each of `calls`: what it waits for is there; its start where it does not wait
  kind: Uint8Array; // likewise
}

// makeWaits puts waits, of which `of` is by call, in the order of the calls.
export function makeWaits(calls: Lanes, of: Int32Array, kind: ArrayLike<number>, ns: ArrayLike<number>): Waits {
  const until = calls.start.slice();
  const kinds = new Uint8Array(until.length);
  calls.item.forEach((row, k) => {
    const wait = of[row] ?? -1;
    if (wait < 0) return;
    until[k] = Math.min(calls.end[k]!, until[k]! + ns[wait]!);
    kinds[k] = kind[wait]!;
  });
  return { of, until, kind: kinds };
}

export interface Raster {
  width: number;
  lines: number;
  each: number; // threads of a line
  first: number; // thread of the first line
  codes: Uint32Array; // line by line
  bursts: number; // that were looked at
}

// Of what falls on a pixel it shows what has most of the time, by Boyer and Moore's majority vote, weighted (MJRTY,
// 1991): what has more than half of it always wins, whatever the order.
class Line {
  constructor(private codes: Uint32Array, private weight: Float32Array) {}

  vote(pixel: number, code: number, weight: number) {
    if (this.codes[pixel] === code) this.weight[pixel]! += weight;
    else if (this.weight[pixel]! < weight) {
      this.weight[pixel] = weight - this.weight[pixel]!;
      this.codes[pixel] = code;
    } else this.weight[pixel]! -= weight;
  }

  // fill votes for a stretch, in pixels, with what it takes of each. One that takes none shows where there is nothing
  // else.
  fill(from: number, to: number, code: number, factor: number) {
    const first = Math.floor(from);
    if (to < first + 1) {
      if (first >= 0 && first < this.codes.length) this.vote(first, code, (to - from || 1e-9) * factor);
      return;
    }
    const last = Math.min(Math.ceil(to), this.codes.length);
    for (let p = Math.max(0, first); p < last; p++) this.vote(p, code, (Math.min(to, p + 1) - Math.max(from, p)) * factor);
  }
}

// Of a pixel two lines vote: what it shows, with all that is in MPI as one, and then, of MPI, for what it waits. So
// waits take no pixel from what else there is, and no pixel of MPI is one of a wait that has less of it.
class Ballot {
  private readonly all: Line;
  private readonly mpi: Line;
  private readonly codes: Uint32Array;
  private readonly waits: Uint32Array;
  private readonly weights: readonly Float32Array[];
  private waiting = false; // something in MPI was drawn with waits known

  constructor(private width: number) {
    [this.codes, this.waits] = [new Uint32Array(width), new Uint32Array(width)];
    this.weights = [new Float32Array(width), new Float32Array(width)];
    this.all = new Line(this.codes, this.weights[0]!);
    this.mpi = new Line(this.waits, this.weights[1]!);
  }

  clear() {
    this.codes.fill(0);
    this.weights[0]!.fill(0);
    if (!this.waiting) return;
    this.waits.fill(0);
    this.weights[1]!.fill(0);
    this.waiting = false;
  }

  fill(from: number, to: number, code: number, factor: number) {
    this.all.fill(from, to, code, factor);
  }

  // fillMPI takes a stretch in MPI, which waits up to a place in it. Within a pixel the wait and the rest vote once: the
  // one that takes longer, with what it takes more.
  fillMPI(from: number, until: number, to: number, wait: number, rest: number, factor: number) {
    this.waiting = true;
    const first = Math.floor(from);
    if (to < first + 1) {
      if (first < 0 || first >= this.width) return;
      const more = 2 * until - from - to || 1e-9;
      this.all.vote(first, rest, (to - from || 1e-9) * factor);
      this.mpi.vote(first, more > 0 ? wait : rest, Math.abs(more) * factor);
      return;
    }
    this.all.fill(from, to, rest, factor);
    if (until > from) this.mpi.fill(from, until, wait, factor);
    if (until < to) this.mpi.fill(until, to, rest, factor);
  }

  // lay puts what won over what is there.
  lay(over: Uint32Array) {
    const { codes, waits, waiting } = this;
    for (let p = 0; p < this.width; p++) {
      const code = codes[p]!;
      if (code !== NOTHING) over[p] = waiting && plain(code) === MPI && waits[p] !== NOTHING ? waits[p]! : code;
    }
  }
}

// drawRaster draws threads rows.from … rows.to (the last one not included) and the time in view; with detail, bursts
// and calls over the overview.
export function drawRaster(source: Source, time: Span, rows: Span, width: number, height: number, detail: boolean): Raster {
  const firstThread = Math.max(0, Math.floor(rows.from));
  const threads = Math.max(0, Math.min(source.threads, Math.ceil(rows.to)) - firstThread);
  const each = Math.max(1, Math.ceil(threads / Math.max(1, height)));
  const lines = Math.ceil(threads / each);
  const raster: Raster = { width, lines, each, first: firstThread, codes: new Uint32Array(width * lines), bursts: 0 };
  const ballot = new Ballot(width);
  for (let line = 0; line < lines; line++) {
    const from = firstThread + line * each;
    const to = Math.min(from + each, firstThread + threads);
    const codes = raster.codes.subarray(line * width, (line + 1) * width);
    // over draws in a line of its own and lays it over what is there.
    const over = (draw: (line: Ballot) => void) => {
      ballot.clear();
      draw(ballot);
      ballot.lay(codes);
    };
    const { overview, bins } = source;
    if (overview) over((own) => drawCells(overview, COARSE, from, to, time, own, width));
    if (bins) over((own) => drawCells(bins, 0, from, to, time, own, width));
    if (!detail) continue;
    over((own) => {
      for (let t = from; t < to; t++) raster.bursts += drawDetail(source, t, time, own, width);
    });
  }
  return raster;
}

// finer says whether pixels are so much shorter than the overview's cells that bursts show more than those do.
export const finer = (o: Overview, time: Span, width: number) => cellWidth(o, time, width) > 2;

// cellWidth is that of the overview's cells, in pixels.
export const cellWidth = (o: Overview, time: Span, width: number) => (((o.time.to - o.time.from) / o.bins) * width) / (time.to - time.from);

// inSight counts the bursts that drawRaster would look at.
export function inSight({ bursts, threads }: Source, time: Span, rows: Span): number {
  let n = 0;
  for (let t = Math.max(0, Math.floor(rows.from)); t < Math.min(threads, Math.ceil(rows.to)); t++) {
    n += Math.max(0, firstStarted(bursts, t, time.to) - firstAfter(bursts, t, time.from));
  }
  return n;
}

function drawCells(o: Overview, flag: number, from: number, to: number, time: Span, line: Ballot, width: number) {
  const pixels = width / (time.to - time.from);
  const bin = (o.time.to - o.time.from) / o.bins;
  const first = Math.max(0, Math.floor((time.from - o.time.from) / bin));
  const last = Math.min(o.bins, Math.ceil((time.to - o.time.from) / bin));
  let before = -1;
  for (let t = from; t < to; t++) {
    const row = o.rowOf[t] ?? -1;
    if (row < 0 || row === before) continue;
    before = row;
    for (let b = first; b < last; b++) {
      const code = o.cell[row * o.bins + b]!;
      if (plain(code) === NOTHING) continue;
      const x = (o.time.from + b * bin - time.from) * pixels;
      const factor = Math.max(1, o.share[row * o.bins + b]!) / 255;
      if (inMPI(plain(code))) line.fillMPI(x, x + bin * pixels, x + bin * pixels, (code | flag) >>> 0, ((code & FLAGS) | MPI | flag) >>> 0, factor);
      else line.fill(x, x + bin * pixels, (code | flag) >>> 0, factor);
    }
  }
}

function drawDetail(source: Source, thread: number, time: Span, line: Ballot, width: number): number {
  const pixels = width / (time.to - time.from);
  const { calls, bursts, gap, code, waits, chosen } = source;
  const x = (ns: number) => (ns - time.from) * pixels;
  const draw = (start: number, end: number, code: number) => {
    if (end >= time.from && start <= time.to) line.fill(x(start), x(end), code, 1);
  };
  const [first, last] = [firstAfter(calls, thread, time.from), firstStarted(calls, thread, time.to)];
  for (let k = first; k < last; k++) {
    const start = calls.start[k]!;
    const end = calls.end[k]!;
    if (chosen?.[calls.item[k]!]) draw(start, end, CHOSEN);
    else if (!waits) draw(start, end, MPI);
    else if (end >= time.from) line.fillMPI(x(start), x(waits.until[k]!), x(end), waits.kind[k] ? waiting(waits.kind[k]!) : MPI, MPI, 1);
  }
  let seen = 0;
  let k = firstAfter(bursts, thread, time.from);
  if (k > bursts.first[thread]!) k--; // the gap behind the one before may reach into view
  for (; k < bursts.first[thread + 1]! && bursts.start[k]! <= time.to; k++, seen++) {
    draw(bursts.start[k]!, bursts.end[k]!, code[bursts.item[k]!]!);
    if (!gap[k]) continue;
    const [start, end] = [bursts.end[k]!, bursts.start[k + 1]!];
    if (!waits) draw(start, end, MPI);
    else if (end >= time.from && start <= time.to) line.fillMPI(x(start), x(start), x(end), MPI, MPI, 1);
  }
  return seen;
}
