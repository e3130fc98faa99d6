// Sets of whole numbers as people write them: "0-3,7".

export type Range = [first: number, last: number];

export function printRanges(ranges: readonly Range[]): string {
  return ranges.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(',');
}

// parseRanges gives null for what is no such set.
export function parseRanges(said: string): Range[] | null {
  const ranges: Range[] = [];
  for (const part of said.split(',')) {
    const m = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (!m) return null;
    const a = Number(m[1]);
    const b = m[2] === undefined ? a : Number(m[2]);
    ranges.push(a <= b ? [a, b] : [b, a]);
  }
  return mergeRanges(ranges);
}

// mergeRanges puts ranges in order and joins those that touch.
export function mergeRanges(ranges: readonly Range[]): Range[] {
  const merged: Range[] = [];
  for (const [a, b] of [...ranges].sort((x, y) => x[0] - y[0])) {
    const last = merged.at(-1);
    if (last && a <= last[1] + 1) last[1] = Math.max(last[1], b);
    else merged.push([a, b]);
  }
  return merged;
}

export function inRanges(ranges: readonly Range[] | null, n: number): boolean {
  if (ranges === null) return true;
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    const r = ranges[mid];
    if (r === undefined) return false;
    if (n < r[0]) high = mid;
    else if (n > r[1]) low = mid + 1;
    else return true;
  }
  return false;
}

export function rangesOf(numbers: Iterable<number>): Range[] {
  return mergeRanges([...numbers].map((n) => [n, n]));
}
