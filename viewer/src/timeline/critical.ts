// The critical path as a line over the threads: level where it is on one, upright where it goes on to another.
import type { Pack } from '../data/pack';
import { length, type Span } from '../draw/span';
import { makeLanes, type Lanes } from './lanes';
import type { Place } from './paint';

export interface Critical {
  thread: ArrayLike<number>; // of each leg, in the order of time
  begin: ArrayLike<number>;
  end: Float64Array;
  lanes: Lanes;
}

// critical gives the critical path, or null where it is not known.
export function critical(pack: Pack): Critical | null {
  const thread = pack.column('critical.thread');
  const begin = pack.column('critical.begin_ns');
  const ns = pack.column('critical.ns');
  if (thread.length === 0) return null;
  const end = Float64Array.from(begin, (b, i) => b + ns[i]!);
  return { thread, begin, end, lanes: makeLanes(pack.json.threads, thread, begin, (row) => end[row]!) };
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
}

interface Look {
  colour: string;
  halo: string; // round it, so that it is seen on any colour
}

// paintCritical draws the legs in view. Of legs shorter than a pixel each pixel shows how much of it each thread has;
// changes of threads are lines where they can be distinguished, elsewhere a paler stripe for several.
export function paintCritical(context: CanvasRenderingContext2D, path: Critical, time: Span, place: Place, width: number, { colour, halo }: Look, ratio: number): Line {
  const pixels = width / length(time);
  const x = (ns: number) => (ns - time.from) * pixels;
  const y = (thread: number) => (thread + 0.5 - place.rows.from) * place.rowHeight;
  const seen = (thread: number) => thread + 1 > place.rows.from && thread < place.rows.to;
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
  const together = new Map<number, Span>(); // by column: the threads between which it goes to and fro
  for (const c of changes) {
    const column = Math.floor(c.x / COLUMN);
    if (crowd.get(column)! <= MOST) {
      apart++;
      level.moveTo(c.x, y(c.from));
      level.lineTo(c.x, y(c.to));
      continue;
    }
    const s = together.get(column);
    together.set(column, { from: Math.min(s?.from ?? Infinity, c.from, c.to), to: Math.max(s?.to ?? -Infinity, c.from, c.to) });
  }
  const wide = Math.min(2.5 * ratio, Math.max(1, place.rowHeight / 3));
  context.lineCap = 'square';
  for (const [style, lineWidth] of [[halo, wide + 2 * ratio], [colour, wide]] as const) {
    context.strokeStyle = style;
    context.lineWidth = lineWidth;
    context.stroke(level);
  }
  context.lineCap = 'butt';
  context.fillStyle = colour;
  context.globalAlpha = CROWDED;
  for (const [column, s] of together) context.fillRect((column + 0.25) * COLUMN, y(s.from), COLUMN / 2, y(s.to) - y(s.from));
  for (const [thread, cover] of short) {
    for (let p = 0; p < cover.length; p++) {
      if (cover[p] === 0) continue;
      context.globalAlpha = Math.min(1, Math.max(0.25, cover[p]!));
      context.fillRect(p, y(thread) - wide / 2, 1, wide);
    }
  }
  context.globalAlpha = 1;
  return { changes: changes.length, drawn: apart };
}

// inTime gives the legs that a time has something of: they follow each other.
function inTime(path: Critical, time: Span): [from: number, to: number] {
  let from = 0;
  while (from < path.begin.length && path.end[from]! < time.from) from++;
  let to = from;
  while (to < path.begin.length && path.begin[to]! <= time.to) to++;
  return [from, to];
}
