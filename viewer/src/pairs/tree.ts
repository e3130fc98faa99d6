// The dendrogram, from its leaves at the right to the left: along it the blocked time of what is joined, logarithmic.
import { length, type Span } from '../draw/span';
import type { Model } from './model';

// timesOf is the stretch of blocked times, as logarithms, that the dendrogram has.
export function timesOf(m: Model): Span {
  const n = m.height.length;
  if (n === 0) return { from: -1, to: 0 };
  const [most, least] = [-Math.log(m.height[0]!), -Math.log(m.height[n - 1]!)];
  const room = Math.max(0.3, 0.06 * (most - least));
  return { from: least - room, to: most + room };
}

// A Stroke is a part of the drawing: those of a colour together.
export interface Strokes {
  readonly above: Path2D; // the cut
  readonly below: readonly [Path2D, Path2D]; // of every other group
  readonly drawn: number; // merges
}

// strokesOf draws the merges that are in view; those less high than half a pixel are within the line of their parent.
export function strokesOf(m: Model, merges: number, rows: Span, times: Span, width: number, height: number): Strokes {
  const strokes = { above: new Path2D(), below: [new Path2D(), new Path2D()] as const };
  const pixel = height / length(rows);
  const n = m.ranks + m.left.length;
  const middle = new Float64Array(n); // of the places, of each cluster
  for (let r = 0; r < m.ranks; r++) middle[r] = m.place[r]! + 0.5;
  for (let i = 0; i < m.left.length; i++) middle[m.ranks + i] = (middle[m.left[i]!]! + middle[m.right[i]!]!) / 2;
  const y = (c: number) => (middle[c]! - rows.from) * pixel;
  const x = (c: number) => (c < m.ranks ? width : ((-Math.log(m.height[c - m.ranks]!) - times.from) / length(times)) * width);
  const parity = groupParity(m, merges);
  let drawn = 0;
  const joined = new Uint8Array(n);
  for (let i = m.left.length - 1; i >= 0; i--) {
    const c = m.ranks + i;
    const [l, r] = [m.left[i]!, m.right[i]!];
    joined[l] = joined[r] = 1;
    const [from, to] = [m.begin[c]!, m.begin[c]! + m.size[c]!];
    if (to <= rows.from || from >= rows.to || (to - from) * pixel < 0.5) continue;
    drawn++;
    const path = i >= merges ? strokes.above : strokes.below[parity[c]! as 0 | 1];
    const at = x(c);
    path.moveTo(at, y(l));
    path.lineTo(at, y(r));
    for (const child of [l, r]) {
      path.moveTo(at, y(child));
      path.lineTo(x(child), y(child));
    }
  }
  // What is joined to nothing.
  for (let c = 0; c < n; c++) {
    if (joined[c] || (m.begin[c]! + m.size[c]!) <= rows.from || m.begin[c]! >= rows.to) continue;
    strokes.above.moveTo(0, y(c));
    strokes.above.lineTo(x(c), y(c));
  }
  return { ...strokes, drawn };
}

// groupParity gives neighbouring groups 0 and 1 in turn.
function groupParity(m: Model, merges: number): Uint8Array {
  const parity = new Uint8Array(m.ranks + m.left.length);
  const top = new Int32Array(m.ranks + merges).fill(-1);
  for (let i = merges - 1; i >= 0; i--) {
    const c = m.ranks + i;
    if (top[c]! < 0) top[c] = c;
    top[m.left[i]!] = top[m.right[i]!] = top[c]!;
  }
  const tops = [...new Set(top)].filter((c) => c >= 0).sort((a, b) => m.begin[a]! - m.begin[b]!);
  const of = new Map(tops.map((c, i) => [c, i % 2]));
  for (let c = 0; c < top.length; c++) parity[c] = of.get(top[c]!) ?? 0;
  return parity;
}

// cutAt is where the line of a cut lies: between the merges on both sides of it.
export function cutAt(m: Model, merges: number, times: Span): number {
  const n = m.height.length;
  if (n === 0) return 0.5;
  const time = (i: number) => -Math.log(m.height[i]!);
  const at = merges === 0 ? (time(0) + times.to) / 2 : merges === n ? (time(n - 1) + times.from) / 2 : (time(merges - 1) + time(merges)) / 2;
  return (at - times.from) / length(times);
}
