import { expect, test } from 'vitest';
import { loadPack } from '../src/data/pack';
import { criteria } from '../src/ranks/groups';
import { colourAt, heatOf } from '../src/ranks/heat';
import { packBytes } from './pack';

const column = (...values: number[]) => Float64Array.from(values);

// Two groups, of two threads and of one: what they have compares by thread.
function pack(seconds: number[]) {
  return loadPack(
    packBytes(
      { format: 1, threads: 3, groups: [[0, 1], [2, 2]], counters: [{ name: 'INS', unit: '' }] },
      {
        'thread.world': new Int32Array(3),
        'thread.rank': Int32Array.of(0, 1, 2),
        'thread.thread': new Int32Array(3),
        'thread.host': new Int32Array(3),
        'thread.class': new Int32Array(3),
        'rank.seconds_in_mpi': column(NaN, NaN),
        'rank.computing_seconds': column(8, 5),
        'rank.sent_bytes': column(20, 10),
        'rank.received_bytes': column(0, 0),
        'rank.bursts': column(6, 3),
        'heat.group': Int32Array.of(...seconds.map((_, i) => i % 2)),
        'heat.cluster': Int32Array.of(...seconds.map((_, i) => (i < 2 ? 1 : -1))),
        'heat.bursts': column(...seconds.map(() => 1)),
        'heat.seconds': column(...seconds),
      },
    ),
  );
}

test('groups of different size compare by thread', () => {
  const of = new Map(criteria(pack([6, 4, 2, 1])).map((c) => [c.id, [...c.values]]));
  expect(of.get('computing')).toEqual([4, 5]);
  expect(of.get('sent')).toEqual([10, 10]);
  expect(of.get('cluster1')).toEqual([3, 4]);
  // Medians 3, the lesser of 3 and 4, and 1: the second group is 1 off, of 4 together.
  expect(of.get('different')).toEqual([0, 1 / 4]);
});

test('what is not known is no criterion', () => {
  expect(criteria(pack([])).map((c) => c.id)).toEqual(['computing', 'sent', 'received', 'bursts']);
});

test('the heat map compares with the median, and one far away does not hide the rest', () => {
  const row = column(...Array.from({ length: 99 }, (_, i) => 1 + 0.002 * (i % 50)), 50);
  const h = heatOf(new Map([[1, row]]), true);
  expect(h.most).toBeLessThan(0.1);
  expect(colourAt(h.shown[0]?.[99] ?? 0, h.most, 'light')).toEqual([0xc4, 0x4e, 0]);
  expect(colourAt(-1, h.most, 'light')).toEqual([0, 0x72, 0xb2]);
  expect(colourAt(0, h.most, 'light')).toEqual([0xf0, 0xf0, 0xee]);
  expect(heatOf(new Map([[1, column(0, 0, 3)]]), true).shown[0]).toEqual(column(0, 0, 1));
  expect(heatOf(new Map([[1, column(2, 3)], [-1, column(1, 1)], [2, column(0, 0)]]), false)).toMatchObject({ ids: [1, 2, -1], most: 3 });
});
