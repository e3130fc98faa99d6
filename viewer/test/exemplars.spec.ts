import { expect, test } from 'vitest';
import { exemplars, weightedMedian } from '../src/clusters/exemplars';
import { edges, histogram } from '../src/clusters/histogram';
import { loadPack } from '../src/data/pack';
import { packBytes } from './pack';

// Ten bursts of the sample stand for ten each and last about 1 ms; four of a window are unusual.
function pack(windowNS: number) {
  const duration = [...Array.from({ length: 10 }, (_, i) => 1e6 + 1e4 * i), windowNS, windowNS + 1, windowNS + 2, 5e7];
  const n = duration.length;
  return loadPack(
    packBytes(
      { format: 1, points: { count: n, of: n, how: '' }, threads: 1, dimensions: [{ name: 'duration', unit: 'ns', scale: 'log', column: 'points.duration' }] },
      {
        'points.duration': Float64Array.from(duration),
        'points.weight': Float32Array.from(duration, (_, i) => (i < 10 ? 10 : 1)),
        'points.window': Int32Array.from(duration, (_, i) => (i < 10 ? -1 : 0)),
      },
    ),
  );
}
const rows = Array.from({ length: 14 }, (_, i) => i);

test('typical bursts are near the median of all that a cluster has, and of windows where those are near', () => {
  expect(exemplars(pack(2e7), rows).map((e) => [e.what, e.row])).toEqual([
    ['typical', 5], // the 52nd and 53rd of 104
    ['typical', 6],
    ['typical', 4],
    ['shortest', 0],
    ['longest', 13],
  ]);
  expect(exemplars(pack(1.04e6), rows).filter((e) => e.what === 'typical').map((e) => e.row).sort((a, b) => a - b)).toEqual([10, 11, 12]);
  expect(exemplars(pack(1e6), [])).toEqual([]);
  expect(exemplars(pack(1e6), [3])).toEqual([{ row: 3, what: 'typical' }]);
});

test('a median counts weights', () => {
  expect(weightedMedian([[3, 1], [1, 1], [2, 1]])).toBe(2);
  expect(weightedMedian([[1, 1], [2, 1], [3, 10]])).toBe(3);
  expect(weightedMedian([])).toBeNaN();
});

test('a histogram holds all that has a value, each as often as it stands for', () => {
  const h = histogram([1, 10, 100, 0, NaN, 1000], [1, 2, 3, 4, 5, 6], (i) => (i === 5 ? -1 : 0), 1, true, 4);
  expect(h.span).toEqual({ from: 0, to: Math.log(100) });
  expect([...(h.bins[0] ?? [])]).toEqual([1, 0, 2, 3]);
  expect(h.notShown).toBe(2);
  expect(edges(h, 3)[1]).toBeCloseTo(100, 9);
  const same = histogram([5, 5], [1, 1], () => 0, 1, false, 5);
  expect([...(same.bins[0] ?? [])]).toEqual([0, 0, 2, 0, 0]);
  expect(histogram([], [], () => 0, 1, true, 3).most).toBe(0);
});
