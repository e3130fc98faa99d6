// Which blocks of the program are open: all down to a depth, or those that take most of the time, but for some that are
// the other way round.
import type { Model } from './model';
import { isBlock, shortOf } from './model';

// HEAVY stands for the blocks that take most of the time.
export const HEAVY = 'heavy';

export interface Folding {
  readonly depth: number | typeof HEAVY; // lines of this depth are the last to be seen
  readonly others: ReadonlySet<number>; // numbers (Node.id) of blocks that are the other way round
}

const AT_FIRST = 60; // lines that are shown if nobody says otherwise

// depthsOf counts the lines down to each depth.
export function depthsOf(m: Model): number[] {
  const lines: number[] = [];
  for (const l of m.lines) lines[l.depth] = (lines[l.depth] ?? 0) + 1;
  let sum = 0;
  return Array.from(lines, (n) => (sum += n));
}

// usualDepth shows as much as fits on a page or two, and two depths at least.
export function usualDepth(m: Model): number {
  const sums = depthsOf(m);
  let depth = Math.min(1, sums.length - 1);
  while (depth + 1 < sums.length && sums[depth + 1]! <= AT_FIRST) depth++;
  return Math.max(0, depth);
}

// usually is how a program is folded if nobody says otherwise: not at all where it fits.
export function usually(m: Model): Folding['depth'] {
  const all = depthsOf(m).length - 1;
  return usualDepth(m) >= all ? all : HEAVY;
}

const heavies = new WeakMap<Model, ReadonlySet<number>>();

// heavyOf are the blocks that are open for most of the time to be seen in as many lines as fit: the one that takes most
// first, then the next one of those that can be seen.
export function heavyOf(m: Model): ReadonlySet<number> {
  const known = heavies.get(m);
  if (known) return known;
  const short = shortOf(m);
  const inside = new Map<number, number[]>([[-1, []]]);
  for (const l of m.lines) {
    inside.set(l.at, []);
    if (!short.has(l.at)) inside.get(l.up)!.push(l.at);
  }
  const time = (at: number) => m.lines[at]!.computeNS + m.lines[at]!.mpiNS;
  const open = new Set<number>();
  const seen = [...inside.get(-1)!];
  let lines = seen.length;
  for (;;) {
    let most = -1;
    for (const at of seen) if (!open.has(at) && isBlock(m.lines[at]!) && lines + inside.get(at)!.length <= AT_FIRST && (most < 0 || time(at) > time(most))) most = at;
    if (most < 0) break;
    open.add(most);
    seen.push(...inside.get(most)!);
    lines += inside.get(most)!.length;
  }
  heavies.set(m, open);
  return open;
}

export const isOpen = (m: Model, f: Folding, at: number) => (f.depth === HEAVY ? heavyOf(m).has(at) : m.lines[at]!.depth < f.depth) !== f.others.has(m.lines[at]!.node.id);

// shownOf lists the lines that are not in a closed block.
export function shownOf(m: Model, f: Folding): number[] {
  const shown: number[] = [];
  for (let i = 0; i < m.lines.length; ) {
    shown.push(i);
    i = isBlock(m.lines[i]!) && !isOpen(m, f, i) ? m.lines[i]!.end : i + 1;
  }
  return shown;
}

export function toggled(m: Model, f: Folding, at: number): Folding {
  const others = new Set(f.others);
  const { id } = m.lines[at]!.node;
  if (!others.delete(id)) others.add(id);
  return { ...f, others };
}

// opened has all blocks round a line open.
export function opened(m: Model, f: Folding, at: number): Folding {
  let now = f;
  for (let i = m.lines[at]!.up; i >= 0; i = m.lines[i]!.up) if (!isOpen(m, now, i)) now = toggled(m, now, i);
  return now;
}
