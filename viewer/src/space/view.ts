// How points are drawn so that few are seen and many do not hide each other.
import type { Span } from '../draw/span';

export const LEFT = 84;
export const RIGHT = 12;
export const TOP = 8;
export const BOTTOM = 48;

// seen estimates how many points are in view, from the first of the order, which are a fair sample.
export function seen(order: Uint32Array, x: Float64Array, y: Float64Array, inX: Span, inY: Span): number {
  const sample = Math.min(order.length, 20_000);
  let inside = 0;
  for (let k = 0; k < sample; k++) {
    const i = order[k]!;
    if (x[i]! >= inX.from && x[i]! <= inX.to && y[i]! >= inY.from && y[i]! <= inY.to) inside++;
  }
  return sample ? (inside / sample) * order.length : 0;
}

// dots gives diameter, in pixels of the page, and opacity.
export function dots(points: number): { size: number; alpha: number } {
  const many = Math.max(0, Math.min(1, (Math.log10(points + 1) - 3) / 3)); // 0 up to 1,000 points, 1 from 1,000,000
  return { size: 6 - 4 * many, alpha: 0.85 - 0.5 * many };
}

const SLOW = 24; // ms between two pictures
const QUICK = 15;

// Budget is how many points a picture of a view in motion has, so that the next one comes in time. When it rests all
// are drawn.
export class Budget {
  points = 200_000;
  private before = 0;

  next(now: number): number {
    const took = now - this.before;
    this.before = now;
    if (took < 200) {
      if (took > SLOW) this.points = Math.max(20_000, this.points * 0.75);
      else if (took < QUICK) this.points = Math.min(1e8, this.points * 1.25);
    }
    return Math.round(this.points);
  }
}
