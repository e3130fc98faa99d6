// Which points lie inside of a line that the user has drawn.

export type Polygon = [x: number, y: number][];

// contains says whether a point lies inside, by the even-odd rule.
export function contains(polygon: Polygon, x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i]!;
    const [xj, yj] = polygon[j]!;
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

// within gives the rows of the points inside, ascending. A point without a place on an axis is in none.
export function within(polygon: Polygon, x: Float64Array, y: Float64Array): Uint32Array {
  const [left, right] = ends(polygon.map((p) => p[0]));
  const [low, high] = ends(polygon.map((p) => p[1]));
  const rows: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if (x[i]! >= left && x[i]! <= right && y[i]! >= low && y[i]! <= high && contains(polygon, x[i]!, y[i]!)) rows.push(i);
  }
  return Uint32Array.from(rows);
}

const ends = (values: number[]) => values.reduce<[number, number]>(([least, most], v) => [Math.min(least, v), Math.max(most, v)] as [number, number], [Infinity, -Infinity]);

// nearest is the point nearest to a place, both axes measured in pixels, and not farther than `reach` of them; or -1.
export function nearest(x: Float64Array, y: Float64Array, atX: number, atY: number, pixelX: number, pixelY: number, reach: number): number {
  let found = -1;
  let least = reach * reach;
  const [left, right] = [atX - reach * pixelX, atX + reach * pixelX];
  for (let i = 0; i < x.length; i++) {
    if (!(x[i]! >= left && x[i]! <= right)) continue;
    const far = ((x[i]! - atX) / pixelX) ** 2 + ((y[i]! - atY) / pixelY) ** 2;
    if (far <= least) {
      least = far;
      found = i;
    }
  }
  return found;
}
