// A stretch of one axis that is in view, and how wheel and keys move it.

export interface Span {
  from: number;
  to: number;
}

export const length = (s: Span) => s.to - s.from;

// inside moves a span so that it lies within the limits; one that is longer than they are becomes them.
export function inside(s: Span, limits: Span): Span {
  const long = length(s);
  if (!(long < length(limits))) return { ...limits };
  if (s.from < limits.from) return { from: limits.from, to: limits.from + long };
  if (s.to > limits.to) return { from: limits.to - long, to: limits.to };
  return s;
}

// zoomed makes a span `factor` times as long, around `at`, which does not move. It never gets shorter than `least`.
export function zoomed(s: Span, at: number, factor: number, limits: Span, least: number): Span {
  const long = Math.max(length(s) * factor, Math.min(least, length(limits)));
  const part = length(s) > 0 ? (at - s.from) / length(s) : 0.5;
  const from = at - part * long;
  return inside({ from, to: from + long }, limits);
}

// moved shifts a span by a part of its own length.
export function moved(s: Span, part: number, limits: Span): Span {
  const by = part * length(s);
  return inside({ from: s.from + by, to: s.to + by }, limits);
}

export const ordered = (a: number, b: number): Span => (a <= b ? { from: a, to: b } : { from: b, to: a });
