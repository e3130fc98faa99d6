// The matrix as cells: one for each two ranks, or for two stretches of neighbouring ranks where there are more than
// pixels.
import { length, type Span } from '../draw/span';
import { mixed, wordOf, type RGB } from '../rgb';
import type { Theme } from '../theme';
import type { Model, Quantity } from './model';

export interface Grid {
  readonly rows: Span; // places that are in view, whole numbers
  readonly columns: Span;
  readonly each: number; // ranks of a cell, each way
  readonly high: number; // cells
  readonly wide: number;
  readonly value: Float64Array; // NaN = not known
  readonly pairs: Int32Array; // in each cell
  readonly best: Int32Array; // that of its pairs that has most, -1 = it has none
  readonly least: number; // above 0
  readonly most: number;
}

// gridOf adds the pairs in view up. order gives the place of each rank.
export function gridOf(m: Model, place: Int32Array, rows: Span, columns: Span, pixels: number, q: Quantity, sum: boolean): Grid {
  const each = Math.max(1, Math.ceil(Math.max(length(rows), length(columns)) / Math.max(1, pixels)));
  const [high, wide] = [Math.ceil(length(rows) / each), Math.ceil(length(columns) / each)];
  const value = new Float64Array(high * wide).fill(NaN);
  const pairs = new Int32Array(high * wide);
  const best = new Int32Array(high * wide).fill(-1);
  const top = new Float64Array(high * wide).fill(-Infinity);
  const adds = sum && q.mean !== true;
  const cellOf = (row: number, column: number) => {
    if (row < rows.from || row >= rows.to || column < columns.from || column >= columns.to) return -1;
    return Math.floor((row - rows.from) / each) * wide + Math.floor((column - columns.from) / each);
  };
  const add = (cell: number, i: number, v: number) => {
    pairs[cell]!++;
    if (v > top[cell]! || best[cell]! < 0) {
      best[cell] = i;
      if (!Number.isNaN(v)) top[cell] = v;
    }
    if (Number.isNaN(v)) return;
    const now = value[cell]!;
    value[cell] = Number.isNaN(now) ? v : adds ? now + v : Math.max(now, v);
  };
  for (let i = 0; i < m.pairs; i++) {
    const v = q.of(m, i);
    const [x, y] = [place[m.a[i]!]!, place[m.b[i]!]!];
    const [cell, other] = [cellOf(x, y), cellOf(y, x)];
    if (cell >= 0) add(cell, i, v);
    if (other >= 0 && other !== cell) add(other, i, v);
  }
  let [least, most] = [Infinity, 0];
  for (const v of value) {
    if (!(v > 0)) continue;
    least = Math.min(least, v);
    most = Math.max(most, v);
  }
  return { rows, columns, each, high, wide, value, pairs, best, least: Number.isFinite(least) ? Math.max(least, most / DECADES) : 0, most };
}

export const DECADES = 1e6; // that colours tell apart

const stops: Record<Theme, readonly [RGB, ...RGB[]]> = {
  light: [[233, 228, 214], [240, 190, 96], [222, 110, 30], [168, 40, 40], [84, 8, 60]],
  dark: [[58, 54, 52], [112, 56, 62], [186, 72, 48], [238, 148, 56], [255, 236, 170]],
};
const unknown: Record<Theme, RGB> = { light: [150, 170, 200], dark: [70, 90, 120] };

// colourAt gives the colour of a value on a logarithmic scale; what is 0 has that of the least.
export function colourAt(v: number, least: number, most: number, theme: Theme): RGB {
  if (Number.isNaN(v)) return unknown[theme];
  const of = stops[theme];
  const part = !(v > 0) || !(most > least) ? (v > 0 ? 1 : 0) : Math.min(1, Math.max(0, Math.log(v / least) / Math.log(most / least)));
  const at = Math.min(of.length - 2, Math.floor(part * (of.length - 1)));
  return mixed(of[at + 1] ?? of[0], of[at] ?? of[0], part * (of.length - 1) - at);
}

const tones: Record<Theme, readonly string[]> = {
  light: ['#7a8797', '#c9b37e', '#5f8a7a', '#b58a9c', '#9aa6d0', '#8d7f6a'],
  dark: ['#8594a6', '#a8925c', '#5f9482', '#a5768a', '#7f8bbd', '#93846d'],
};

// NODE_COLOURS is after how many nodes their colours come again.
export const NODE_COLOURS = tones.light.length;

export const nodeColour = (node: number, theme: Theme) => tones[theme][node % NODE_COLOURS] ?? '';

// pixelsOf gives a pixel for each cell; cells without messages are clear.
export function pixelsOf(g: Grid, theme: Theme): ImageData {
  const words = new Uint32Array(g.high * g.wide);
  for (let i = 0; i < words.length; i++) if (g.pairs[i]! > 0) words[i] = wordOf(colourAt(g.value[i]!, g.least, g.most, theme));
  return new ImageData(new Uint8ClampedArray(words.buffer), g.wide, g.high);
}

// runsOf lists the stretches of places whose ranks have the same value, those of -1 left out.
export function runsOf(order: ArrayLike<number>, of: ArrayLike<number>): { from: number; to: number; value: number }[] {
  const runs: { from: number; to: number; value: number }[] = [];
  for (let at = 0; at < order.length; at++) {
    const value = of[order[at]!]!;
    const last = runs.at(-1);
    if (last?.to === at && last.value === value) last.to = at + 1;
    else if (value >= 0) runs.push({ from: at, to: at + 1, value });
  }
  return runs;
}
