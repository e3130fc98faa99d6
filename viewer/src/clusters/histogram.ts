// Distributions of a quantity over bursts, each counted as often as the bursts that it stands for.
import type { Span } from '../draw/span';

export interface Histogram {
  readonly span: Span; // of the axis: the natural logarithm where log is set
  readonly log: boolean;
  readonly bins: readonly Float64Array[]; // by series: bursts in each bin
  readonly most: number; // in one bin of one series
  readonly notShown: number; // points without a value, or with none that has a logarithm
}

// histogram puts the points of each series into as many bins of equal width; seriesOf gives -1 for a point in none.
export function histogram(values: ArrayLike<number>, weights: ArrayLike<number>, seriesOf: (point: number) => number, series: number, log: boolean, bins: number): Histogram {
  const at = (i: number) => {
    const v = values[i] ?? NaN;
    return log ? (v > 0 ? Math.log(v) : NaN) : v;
  };
  let [from, to, notShown] = [Infinity, -Infinity, 0];
  for (let i = 0; i < values.length; i++) {
    if (seriesOf(i) < 0) continue;
    const x = at(i);
    if (!Number.isFinite(x)) notShown++;
    else [from, to] = [Math.min(from, x), Math.max(to, x)];
  }
  if (from > to) [from, to] = [0, 1];
  // A quantity that is the same in all bursts has one bin in the middle.
  const room = to > from ? 0 : log ? 0.05 : Math.abs(from) * 0.05 || 0.5;
  const span = { from: from - room, to: to + room };
  const of = Array.from({ length: series }, () => new Float64Array(bins));
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const row = of[seriesOf(i)];
    const x = at(i);
    if (!row || !Number.isFinite(x)) continue;
    const bin = Math.min(bins - 1, Math.floor(((x - span.from) / (span.to - span.from)) * bins));
    most = Math.max(most, (row[bin] = (row[bin] ?? 0) + (weights[i] ?? 1)));
  }
  return { span, log, bins: of, most, notShown };
}

// edges are the values at the ends of a bin.
export function edges(h: Histogram, bin: number): [number, number] {
  const n = h.bins[0]?.length ?? 1;
  const value = (k: number) => {
    const x = h.span.from + ((h.span.to - h.span.from) * k) / n;
    return h.log ? Math.exp(x) : x;
  };
  return [value(bin), value(bin + 1)];
}
