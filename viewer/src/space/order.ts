// The order in which points are drawn. Any beginning of it is a fair sample, so that a view in motion can draw fewer of
// them.

// shuffled gives the numbers of points that have both coordinates, in an order that is random and always the same
// (Fisher and Yates' shuffle).
export function shuffled(x: Float64Array, y: Float64Array): Uint32Array {
  let n = 0;
  const order = new Uint32Array(x.length);
  for (let i = 0; i < x.length; i++) if (!Number.isNaN(x[i]! + y[i]!)) order[n++] = i;
  let state = 1;
  for (let i = n - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // Knuth's and Lewis' generator
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    const other = order[i]!;
    order[i] = order[j]!;
    order[j] = other;
  }
  return order.slice(0, n);
}
