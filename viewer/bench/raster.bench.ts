// What the timeline's image of a million bursts and calls takes in script, with waits and without them, on the whole
// run and zoomed in. make bench-viewer prints it.
import { expect, test } from 'vitest';
import { codeOf } from '../src/data/codes';
import { makeLanes } from '../src/timeline/lanes';
import { drawRaster, makeWaits, type Source } from '../src/timeline/raster';

const [RANKS, BURSTS, STEP] = [1024, 1000, 1000]; // threads, bursts of each, ns from one to the next
const [WIDTH, HEIGHT, TIMES] = [1270, 500, 21]; // the least of so many times

// source has bursts of 600 ns, each with a call of 400 ns behind it, of which every other one waits.
function source(waits: boolean): Source {
  const n = RANKS * BURSTS;
  const thread = Int32Array.from({ length: n }, (_, i) => Math.floor(i / BURSTS));
  const start = Float64Array.from({ length: n }, (_, i) => (i % BURSTS) * STEP + (Math.floor(i / BURSTS) % 7) * 10);
  const enter = start.map((s) => s + 600);
  const half = n / 2;
  const of = Int32Array.from({ length: n }, (_, i) => (i % 2 ? (i - 1) / 2 : -1));
  const calls = makeLanes(RANKS, thread, enter, (i) => (enter[i] ?? 0) + 400);
  return {
    threads: RANKS,
    bursts: makeLanes(RANKS, thread, start, (i) => (start[i] ?? 0) + 600),
    code: Uint32Array.from({ length: n }, (_, i) => codeOf(1 + (i % 4))),
    gap: new Uint8Array(n),
    calls,
    waits: waits ? makeWaits(calls, of, Uint8Array.from({ length: half }, (_, i) => (i % 3 ? 1 : 5)), new Float64Array(half).fill(250)) : null,
    overview: null,
    bins: null,
  };
}

test('the raster', () => {
  const rows = ['| time in view | without waits, ms | with waits, ms |', '|---|---|---|'];
  const sources = [source(false), source(true)];
  for (const part of [1, 0.1, 0.01]) {
    const time = { from: 0.4 * BURSTS * STEP * (1 - part), to: 0.4 * BURSTS * STEP * (1 - part) + BURSTS * STEP * part };
    const least = sources.map((s) => {
      const times = Array.from({ length: TIMES }, () => {
        const began = performance.now();
        const raster = drawRaster(s, time, { from: 0, to: RANKS }, WIDTH, HEIGHT, true);
        const took = performance.now() - began;
        expect(raster.bursts).toBeGreaterThanOrEqual(RANKS * BURSTS * part);
        return took;
      });
      return Math.min(...times);
    });
    rows.push(`| ${100 * part} % | ${least.map((m) => m.toFixed(1)).join(' | ')} |`);
  }
  console.log(rows.join('\n'));
});
