// One dimension of burst space: a column of the pack on a linear or a logarithmic scale.

import type { Span } from '../draw/span';

export type Scale = 'lin' | 'log';

// coordinates gives where values lie on the scale (the natural logarithm, or themselves), NaN where a value has no
// place on it.
export function coordinates(values: ArrayLike<number>, scale: Scale): Float64Array {
  const out = new Float64Array(values.length);
  for (let i = 0; i < out.length; i++) {
    const v = scale === 'log' ? Math.log(values[i]!) : values[i]!;
    out[i] = Number.isFinite(v) ? v : NaN;
  }
  return out;
}

// extent is what the coordinates of `rows` span, with a margin; of one value alone, a stretch round it.
export function extent(at: Float64Array, rows: ArrayLike<number>): Span {
  let from = Infinity;
  let to = -Infinity;
  for (let i = 0; i < rows.length; i++) {
    const v = at[rows[i]!]!;
    if (v < from) from = v;
    if (v > to) to = v;
  }
  if (from > to) return { from: 0, to: 1 };
  const margin = to > from ? 0.03 * (to - from) : Math.abs(from) * 0.05 || 0.5;
  return { from: from - margin, to: to + margin };
}
