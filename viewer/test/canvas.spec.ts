// What the canvases are computed from, without a browser.
import { expect, test } from 'vitest';
import { clusterOf, codeOf, MPI } from '../src/data/codes';
import { moved, zoomed } from '../src/draw/span';
import { amount, linearTicks, logTicks, timeTicks } from '../src/draw/ticks';
import { coordinates, extent } from '../src/space/axis';
import { contains, nearest, within } from '../src/space/lasso';
import { shuffled } from '../src/space/order';
import { Budget, seen } from '../src/space/view';
import { at, firstAfter, makeLanes } from '../src/timeline/lanes';
import { profileOf } from '../src/timeline/profile';
import { COARSE, drawRaster, inSight, plain, type Source } from '../src/timeline/raster';
import { whatAt } from '../src/timeline/what';

test('a span keeps what lies under the pointer, within its limits', () => {
  const limits = { from: 0, to: 100 };
  const near = zoomed({ from: 20, to: 60 }, 30, 0.5, limits, 1);
  expect(near).toEqual({ from: 25, to: 45 });
  expect((30 - near.from) / 20).toBe((30 - 20) / 40);
  expect(zoomed({ from: 20, to: 60 }, 30, 1e-9, limits, 1)).toEqual({ from: 29.75, to: 30.75 });
  expect(zoomed({ from: 20, to: 60 }, 30, 1e9, limits, 1)).toEqual(limits);
  expect(moved({ from: 80, to: 100 }, 1, limits)).toEqual({ from: 80, to: 100 });
  expect(moved({ from: 80, to: 100 }, -0.5, limits)).toEqual({ from: 70, to: 90 });
});

test('numbers on axes have units and room', () => {
  expect(amount(1500, 'ns')).toBe('1.5 µs');
  expect(amount(2e9, 'ns')).toBe('2 s');
  expect(amount(25_000, '')).toBe('25k');
  expect(amount(0.25, '')).toBe('0.25');
  const late = timeTicks({ from: 100e9, to: 100e9 + 5000 }, 1000);
  expect(late.base).toBe('100 s');
  expect(late.ticks[1]?.label).toMatch(/^\+[\d.]+ µs$/);
  const log = logTicks({ from: Math.log(1e3), to: Math.log(1e9) }, 600, 60, 'ns');
  const labelled = log.filter((t) => t.label);
  expect(labelled.map((t) => t.label)).toContain('1 ms');
  for (let i = 1; i < labelled.length; i++) expect(((labelled[i]!.at - labelled[i - 1]!.at) / Math.log(1e6)) * 600).toBeGreaterThanOrEqual(59.9);
  expect(linearTicks({ from: 0, to: 3e6 }, 600, 60, 'ns').map((t) => t.label)).toContain('1 ms');
});

test('values without a place on a scale are left out', () => {
  const x = coordinates([1, 0, -1, NaN, Math.E], 'log');
  expect([...x]).toEqual([0, NaN, NaN, NaN, 1]);
  const order = shuffled(x, new Float64Array(5));
  expect([...order].sort()).toEqual([0, 4]);
  expect(extent(x, order)).toEqual({ from: -0.03, to: 1.03 });
  expect(extent(x, [])).toEqual({ from: 0, to: 1 });
});

test('the order of drawing is the same each time, and any beginning of it a fair sample', () => {
  const n = 100_000;
  const x = Float64Array.from({ length: n }, (_, i) => i);
  const order = shuffled(x, x);
  expect(order).toEqual(shuffled(x, x));
  expect(new Set(order).size).toBe(n);
  let low = 0;
  for (const i of order.subarray(0, 10_000)) if (i < n / 2) low++;
  expect(Math.abs(low - 5000)).toBeLessThan(4 * Math.sqrt(10_000 / 4));
  expect(Math.abs(seen(order, x, x, { from: 0, to: n / 4 }, { from: 0, to: n }) - n / 4)).toBeLessThan(n / 50);
});

test('a lasso holds what lies inside of it', () => {
  const u: [number, number][] = [[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]];
  expect(contains(u, 0.5, 2)).toBe(true);
  expect(contains(u, 1.5, 2)).toBe(false);
  expect([...within(u, Float64Array.of(0.5, 1.5, 2.5, NaN, 9), Float64Array.of(2, 2, 2, 1, 1))]).toEqual([0, 2]);
  expect(nearest(Float64Array.of(0, 10, NaN), Float64Array.of(0, 10, 5), 9, 10, 1, 1, 5)).toBe(1);
  expect(nearest(Float64Array.of(0, 10), Float64Array.of(0, 10), 5, 5, 1, 1, 5)).toBe(-1);
});

test('a view in motion draws fewer points where pictures come late, and more where they do not', () => {
  const slow = new Budget();
  for (let i = 1; i < 40; i++) slow.next(i * 60);
  expect(slow.points).toBe(20_000);
  const quick = new Budget();
  for (let i = 1; i < 40; i++) quick.next(i * 8);
  expect(quick.points).toBeGreaterThan(1e6);
});

// Thread 0: bursts 0-10 (cluster 1), 20-30 (2), 40-41 (3), MPI between; thread 1 has one burst that begins late in the
// columns.
function source(): Source {
  const start = [20, 0, 40, 5];
  const end = [30, 10, 41, 25];
  const thread = [0, 0, 0, 1];
  const bursts = makeLanes(2, thread, start, (i) => end[i]!);
  return { threads: 2, bursts, code: Uint32Array.of(codeOf(2), codeOf(1), codeOf(3), codeOf(4)), gap: Uint8Array.of(1, 1, 0, 0), calls: makeLanes(2, [], [], () => 0), waits: null, overview: null, bins: null };
}

test('lanes are in the order of time, and found by it', () => {
  const { bursts } = source();
  expect([...bursts.first]).toEqual([0, 3, 4]);
  expect([...bursts.item]).toEqual([1, 0, 2, 3]);
  expect(firstAfter(bursts, 0, 15)).toBe(1);
  expect(at(bursts, 0, 25)).toBe(1);
  expect(at(bursts, 0, 15)).toBe(-1);
  expect(makeLanes(1, [0, 7, -1, 0], [1, 1, 1, NaN], () => 2).item).toEqual(Uint32Array.of(0));
  // An outer item that reaches over inner ones is found behind them.
  const nested = makeLanes(1, [0, 0, 0], [0, 1, 50], (i) => [100, 2, 60][i]!);
  expect(at(nested, 0, 30)).toBe(0);
});

test('the raster shows what takes most of each pixel', () => {
  const r = drawRaster(source(), { from: 0, to: 50 }, { from: 0, to: 2 }, 5, 20, true);
  expect([...r.codes.subarray(0, 5)]).toEqual([codeOf(1), MPI, codeOf(2), MPI, codeOf(3)]);
  expect([...r.codes.subarray(5)]).toEqual([codeOf(4), codeOf(4), codeOf(4), 0, 0]);
  expect(inSight(source(), { from: 0, to: 50 }, { from: 0, to: 2 })).toBe(4);
  expect(inSight(source(), { from: 12, to: 18 }, { from: 0, to: 1 })).toBe(0);
  // Two threads on one line; what has more than half of the pixel wins.
  const narrow = drawRaster(source(), { from: 0, to: 20 }, { from: 0, to: 2 }, 1, 1, true);
  expect(narrow).toMatchObject({ lines: 1, each: 2 });
  expect(narrow.codes[0]).toBe(codeOf(4));
});

test('the overview fills what has no detail', () => {
  const s: Source = { ...source(), overview: { time: { from: 0, to: 100 }, bins: 2, rowOf: Int32Array.of(0, 0), cell: Uint32Array.of(codeOf(9), MPI), share: [255, 128] } };
  const r = drawRaster(s, { from: 0, to: 100 }, { from: 0, to: 1 }, 100, 10, true);
  expect(r.codes[45]).toBe((codeOf(9) | COARSE) >>> 0);
  expect(r.codes[5]).toBe(codeOf(1));
  expect(plain(r.codes[75]!)).toBe(MPI);
  const coarse = drawRaster(s, { from: 0, to: 100 }, { from: 0, to: 1 }, 100, 10, false);
  expect(clusterOf(plain(coarse.codes[5]!))).toBe(9);
  expect(whatAt(s, 0, 15, 0)).toEqual({ kind: 'mpi', time: { from: 10, to: 20 } });
  expect(whatAt(s, 0, 75, 0)).toMatchObject({ kind: 'cell', code: MPI, share: 128 / 255 });
  expect(whatAt(s, 0, 25, 0)).toMatchObject({ kind: 'burst', row: 0 });
});

test('the profile keeps thread-seconds at any zoom', () => {
  // Two bins of 1 s, two codes.
  const profile = [3, 1, 0, 4];
  const rows = profileOf(profile, 2, 2, { from: 0, to: 2e9 }, { from: 0, to: 2e9 }, 4);
  expect([...rows[0]!]).toEqual([3, 3, 0, 0]);
  expect([...rows[1]!]).toEqual([1, 1, 4, 4]);
  const coarse = profileOf(profile, 2, 2, { from: 0, to: 2e9 }, { from: 0, to: 2e9 }, 1);
  expect(coarse.map((r) => r[0])).toEqual([1.5, 2.5]);
});
