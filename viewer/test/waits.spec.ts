// Who waits for whom, and why: hatched in the timeline, the critical path over it, causes in sentences and tables.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterOf, codeOf, kindOf, MPI, waiting } from '../src/data/codes';
import { findings } from '../src/data/findings';
import { loadBins, loadPack, PackError, type Pack } from '../src/data/pack';
import { byKind, KINDS, membersOf, pathBy, scopesOf, type Cause } from '../src/data/waits';
import { did, who } from '../src/data/waitwords';
import { linesOf } from '../src/draw/waits';
import { seconds as time } from '../src/format';
import { coarselyAt, critical, next } from '../src/timeline/critical';
import { layersOf, waitedOf } from '../src/timeline/profile';
import { makeLanes } from '../src/timeline/lanes';
import { drawRaster, makeWaits, plain, type Source } from '../src/timeline/raster';
import { cells, kindsOf } from '../src/timeline/source';
import { accessible, launch, open, report } from './browser';
import { packBytes } from './pack';
import { LATE_SENDER, N_TO_N, synthetic } from './synthetic';
import { tableOf } from './waits';

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: {} });
const endNS = 20 * run.iterationNS;
const waited = 0.1 * 8 * (endNS / 1e9);

function must<T>(v: T | null | undefined): T {
  if (v === null || v === undefined) throw new Error('it is not there');
  return v;
}

const sum = (of: ArrayLike<number>) => Array.from(of).reduce((a, b) => a + b, 0);

describe('data', () => {
  test('a code says of which kind a wait is, and is no cluster', () => {
    for (let kind = 1; kind < KINDS.length; kind++) {
      expect(kindOf(waiting(kind))).toBe(kind);
      expect(clusterOf(waiting(kind))).toBe(0);
    }
    for (const code of [0, MPI, 4, codeOf(1), codeOf(65000), 0xffff]) expect(kindOf(code)).toBe(0);
    expect(clusterOf(codeOf(65000))).toBe(65000);
  });

  test('no two kinds of a colour have the same lines', () => {
    for (const kinds of [[1, 2, 3], [4, 5, 6, 7, 8, 9], [10, 11]]) {
      expect(new Set(kinds.map(linesOf)).size).toBe(kinds.length);
      kinds.forEach((k) => expect(linesOf(k)).not.toBe(''));
    }
  });

  test('columns that do not fit together are reported', () => {
    expect(() => loadPack(packBytes({ ...run.json, detail: { calls: 0, waits: 2, messages: 0, critical: 0 } }, { 'waits.kind': new Uint8Array(1) }))).toThrow(/waits\.kind has 1 rows, not 2/);
    const place = { format: 1, from_ns: 0, to_ns: 9, bins: 2, rows: [[0, 0]], codes: [] };
    const columns = { 'overview.cell': new Uint16Array(2), 'overview.share': new Uint8Array(2) };
    expect(loadBins(packBytes(place, columns)).wait).toHaveLength(0);
    expect([...loadBins(packBytes(place, { ...columns, 'overview.wait': Uint8Array.of(0, 5) })).wait]).toEqual([0, 5]);
    expect(() => loadBins(packBytes(place, { ...columns, 'overview.wait': new Uint8Array(3) }))).toThrow(PackError);
  });

  test('the path is joined by what it is, and followed from thread to thread', () => {
    const pack = loadPack(run.bytes);
    const [scope] = scopesOf(pack.json.waits);
    const parts = pathBy(must(scope).table);
    expect(parts.map((p) => [p.what, p.cluster, Math.round(p.share * 100)])).toEqual([['computing', 1, 60], ['computing', 2, 25], ['MPI', null, 10], ['outside', null, 5]]);
    const path = must(critical(pack));
    expect(Array.from({ length: 20 }, (_, i) => next(path, i))).toEqual([...Array.from({ length: 19 }, (_, i) => (i + 1) % 8), -1]);
    expect(critical(loadPack(synthetic({ ranks: 2, iterations: 3, clusters: 2 }).bytes))).toBeNull();
  });

  test('where there are no legs, the path is that of bins of the overview', () => {
    expect(critical(loadPack(run.bytes))).toMatchObject({ coarse: null, known: true });
    const half = must(critical(loadPack(synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: {}, legs: 10 }).bytes)));
    const coarse = must(half.coarse);
    expect(half.known).toBe(true);
    expect(half.thread).toHaveLength(10);
    expect(coarse.bin[0]).toBe(100); // of 200: the ones before are full of legs
    expect(new Set(coarse.bin).size).toBe(100);
    expect(sum(coarse.share.map((s) => s * coarse.each))).toBeCloseTo(10 * run.iterationNS, -5);
    expect(coarselyAt(coarse, 12 % 8, 12.5 * run.iterationNS)).toMatchObject({ share: 1, threads: 1 });
    expect(coarselyAt(coarse, 3, 12.5 * run.iterationNS)).toBeNull();
    expect(coarselyAt(coarse, 0, 0)).toBeNull();
    const none = must(critical(loadPack(synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: {}, legs: 0 }).bytes)));
    expect(none.coarse?.bin[0]).toBe(0);
    const json = { ...run.json, detail: { ...(run.json['detail'] as object), calls: 0, waits: 0, messages: 0, critical: 1 }, points: { count: 0, of: 0 }, groups: [] };
    const old = { 'critical.thread': Int32Array.of(0), 'critical.begin_ns': Float64Array.of(0), 'critical.ns': Float64Array.of(run.iterationNS) };
    expect(critical(loadPack(packBytes(json, old)))).toMatchObject({ coarse: null, known: false });
    expect(() => loadPack(packBytes(json, { ...old, 'overview.path.row': new Uint16Array(2) }))).toThrow(/overview\.path\.row has 2 rows, not 800/);
    expect(() => loadPack(packBytes(json, { ...old, 'overview.waiting': new Uint8Array(7) }))).toThrow(/overview\.waiting has 7 rows/);
  });

  test('in the profile waits lie above the rest of MPI, which is above all else', () => {
    const unlit = 0x40000000;
    expect(layersOf([0, 1, 6, 7], 0, (c) => c)).toEqual([{ i: 2, kind: -1, code: 6 }, { i: 3, kind: -1, code: 7 }, { i: 1, kind: -1, code: MPI }]);
    expect(layersOf([0, 1, 6], 3, (c) => (c === 1 ? (c | unlit) >>> 0 : c)).map((l) => [l.i, l.kind, plain(l.code), l.code >= unlit])).toEqual([
      [2, -1, 6, false], [1, 0, MPI, true], [1, 1, waiting(1), true], [1, 2, waiting(2), true],
    ]);
    expect([...waitedOf([0, MPI], [9, 2, 9, 4], [0, 51, 102, 0, 255, 3], 3)].map((s) => Math.round(s * 1e6) / 1e6)).toEqual([0.8, 0.4, 0.8, 0, 4, 0]);
  });

  test('main comes before the whole run, and directories without it have that', () => {
    const keys = (waits: Record<string, unknown>) => scopesOf(loadPack(synthetic({ ranks: 2, iterations: 3, clusters: 2, waits }).bytes).json.waits).map((s) => s.key);
    expect(keys({})).toEqual(['run']);
    expect(keys({ main: null })).toEqual(['run']);
    expect(keys({ main: tableOf(2, 1), windows: tableOf(2, 1) })).toEqual(['main', 'run', 'windows']);
    expect(scopesOf(loadPack(synthetic({ ranks: 2, iterations: 3, clusters: 2, waits: { main: { ...tableOf(2, 1), begin_seconds: 0.5, end_seconds: 1.5 } } }).bytes).json.waits)[0]).toMatchObject({
      title: 'main', says: `from the end of the last MPI_Init to the start of the first MPI_Finalize: ${time(0.5)} to ${time(1.5)}`,
    });
  });

  test('kinds have the figures of their clusters, and the path is divided among them, all of it', () => {
    const { table } = ofVariants();
    expect([...byKind(table)].map(([kind, of]) => [kind, of.map((c) => c.cluster)])).toEqual([[1, [4, 1]], [2, [2]]]);
    expect([membersOf(table, 1), membersOf(table, 2), membersOf(table, 7)]).toEqual([[1, 4], [2], [7]]);
    const bar = pathBy(table);
    expect(bar.map((p) => [p.what, p.cluster, p.seconds, p.of.map((m) => [m.cluster, m.path_seconds])])).toEqual([
      ['computing', 1, 7, [[4, 4], [1, 3]]], ['MPI', null, 1.5, []], ['computing', 2, 1, []], ['computing', null, 0.5, []],
    ]);
    expect(sum(bar.map((p) => p.share))).toBeCloseTo(1, 12);
  });

  test('what a cause is has the words of the command', () => {
    const { pack, table } = ofVariants();
    const [first] = table.causes;
    const said = (change: Partial<Cause>, t = table) => did(t, { ...must(first), more_seconds: NaN, ...change }).replace(/\s/g, ' ');
    const having = (locations: number) => ({ ...table, clusters: table.clusters.map((c) => ({ ...c, locations })) });
    expect(said({ more_seconds: 0.25 })).toBe('250 ms longer in cluster 1 (variants 1, 4) before a');
    expect(said({ variants: [4] })).toBe('in cluster 1 (variant 4) before a');
    expect(said({ variants: [4] }, having(1))).toBe('in cluster 1 (variant 4; no other rank has it) before a');
    expect(said({ variants: [] }, having(2))).toBe('in cluster 1 (only 2 of 8 ranks have it) before a');
    expect(said({ cluster: null, variants: [] })).toBe('in bursts in no cluster before a');
    expect(said({ what: 'MPI', cluster: null, variants: [], more_seconds: 0.25 })).toBe('250 ms longer in a');
    expect(said({ what: 'outside', cluster: null, variants: [], call_path: '' })).toBe('in time not recorded');
    const first0 = { world: 0, rank: 1, thread: 0 };
    expect([who(pack, table, first0), who(pack, { ...table, locations: 9 }, first0)]).toEqual(['rank 1', 'rank 1 thread 0']);
  });
});

// ofVariants has 4 as a variant of 1, causes of 10 s of waiting and a path of 10 s.
function ofVariants() {
  const cause = (n: number, cluster: number | null, variants: number[], call_path: string, seconds: number, direct_seconds: number, waits: number) => ({
    world: 0, rank: n, thread: 0, what: 'computing', cluster, variants, call_path, seconds, direct_seconds, share: seconds / 10, waits, more_seconds: 0.25,
  });
  const part = (what: string, cluster: number | null, variants: number[], call_path: string, seconds: number) => ({ what, cluster, variants, call_path, seconds, share: seconds / 10 });
  const cost = (cluster: number, kind: number, caused: number, path: number, imbalance: number) => ({
    cluster, kind, locations: 8, caused_seconds: caused, path_seconds: path, path_share: path / 10, path_imbalance_seconds: imbalance,
  });
  const other = (what: string, caused: number, path: number) => ({ what, caused_seconds: caused, path_seconds: path, path_share: path / 10 });
  const given = {
    ...tableOf(8, 10),
    causes: [cause(1, 1, [1, 4], 'a', 5, 4, 9), cause(2, 1, [4], 'a', 2, 2, 5), cause(1, 1, [], 'b', 1, 1, 5), cause(1, null, [], 'a', 0.5, 0.5, 5)],
    clusters: [cost(4, 1, 5, 4, 2), cost(1, 1, 3, 3, -1), cost(2, 2, 0, 1, 0)],
    others: [other('computing', 0.5, 0.5), other('MPI', 1.5, 1.5), other('outside', 0, 0)],
    critical_path: { seconds: 10, changes: 3, parts: [part('computing', 1, [1, 4], 'a', 5), part('computing', 1, [4], 'b', 2), part('computing', 2, [], 'a', 1), part('MPI', null, [], 'a', 1)], parts_total: 9, rest_seconds: 1, ranks: [] },
  };
  const made = synthetic({ ranks: 8, iterations: 20, clusters: 4, kinds: true, waits: { whole_run: given } });
  const pack = loadPack(made.bytes);
  return { made, pack, table: must(pack.json.waits?.whole_run) };
}

// One thread, 100 ns: a burst of 40, then a call of 60 that waits for 50.
function source(burst = 40, wait = 50): Source {
  const calls = makeLanes(1, [0], [burst], () => 100);
  return {
    threads: 1, bursts: makeLanes(1, [0], [0], () => burst), code: Uint32Array.of(codeOf(1)), gap: Uint8Array.of(0), calls,
    waits: makeWaits(calls, Int32Array.of(0), [LATE_SENDER], [wait]), overview: null, bins: null,
  };
}

describe('raster', () => {
  const shown = (s: Source, width: number) => [...drawRaster(s, { from: 0, to: 100 }, { from: 0, to: 1 }, width, 1, true).codes].map(plain);

  test('a wait lasts from the entry of the call, the rest of it is MPI', () => {
    expect(shown(source(), 10)).toEqual([...Array<number>(4).fill(codeOf(1)), ...Array<number>(5).fill(waiting(LATE_SENDER)), MPI]);
  });

  test('a pixel of MPI shows the wait if that has most of the time in MPI, and waits take none from others', () => {
    expect(shown(source(), 1)).toEqual([waiting(LATE_SENDER)]);
    expect(shown(source(40, 25), 1)).toEqual([MPI]);
    expect(shown(source(55), 1)).toEqual([codeOf(1)]);
    // Two kinds and the rest: none has more than the burst, all together do.
    const calls = makeLanes(1, [0, 0], [40, 70], (i) => (i === 0 ? 70 : 100));
    expect(shown({ ...source(), calls, waits: makeWaits(calls, Int32Array.of(0, 1), [LATE_SENDER, N_TO_N], [28, 30]) }, 1)).toEqual([waiting(N_TO_N)]);
  });

  test('what has more than half of a pixel, and of its time in MPI, wins, wherever calls begin and end', () => {
    let seed = 7;
    const random = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
    for (let round = 0; round < 200; round++) {
      const edges = [...new Set(Array.from({ length: 60 }, () => random(1000)))].sort((a, b) => a - b);
      const stretches = edges.slice(1).map((to, i) => ({ from: edges[i] ?? 0, to }));
      const [bursts, inMPI] = [stretches.filter((_, i) => i % 2 === 0), stretches.filter((_, i) => i % 2 === 1)];
      const ns = inMPI.map(({ from, to }) => random(to - from + 1));
      const kind = inMPI.map((_, i) => (random(2) ? LATE_SENDER : N_TO_N) * Number(i % 3 > 0));
      const calls = makeLanes(1, inMPI.map(() => 0), inMPI.map((s) => s.from), (i) => inMPI[i]?.to ?? 0);
      const s: Source = {
        ...source(), calls, bursts: makeLanes(1, bursts.map(() => 0), bursts.map((b) => b.from), (i) => bursts[i]?.to ?? 0), code: new Uint32Array(bursts.length).fill(codeOf(1)), gap: new Uint8Array(bursts.length),
        waits: makeWaits(calls, Int32Array.from(kind, (k, i) => (k ? i : -1)), kind, ns),
      };
      const width = 1 + random(120);
      const pixels = [...drawRaster(s, { from: 0, to: 1000 }, { from: 0, to: 1 }, width, 1, true).codes].map(plain);
      pixels.forEach((code, p) => {
        const within = (from: number, to: number) => Math.max(0, Math.min(to, ((p + 1) * 1000) / width) - Math.max(from, (p * 1000) / width));
        const computing = sum(bursts.map((b) => within(b.from, b.to)));
        const mpi = sum(inMPI.map((c) => within(c.from, c.to)));
        if (Math.abs(computing - mpi) > 0.01) expect(code === codeOf(1)).toBe(computing > mpi);
        if (mpi <= computing + 0.01) return;
        for (const k of [LATE_SENDER, N_TO_N]) {
          const waited = sum(inMPI.map((c, i) => (kind[i] === k ? within(c.from, c.from + (ns[i] ?? 0)) : 0)));
          if (waited > mpi / 2 + 0.01) expect(code).toBe(waiting(k));
        }
        const rest = sum(inMPI.map((c, i) => (kind[i] ? within(c.from + (ns[i] ?? 0), c.to) : within(c.from, c.to))));
        if (rest > mpi / 2 + 0.01) expect(code).toBe(MPI);
      });
    }
  });

  test('cells of the overview show waits too', () => {
    const place = { from_ns: 0, to_ns: 100, bins: 4, rows: [[0, 0]] as [number, number][], codes: [] };
    const overview = cells({ place, cell: Uint16Array.of(1, 1, 6, 0), share: new Uint8Array(4).fill(255), wait: Uint8Array.of(0, N_TO_N, 0, 0) }, 1, (code) => code);
    const s: Source = { ...source(), bursts: makeLanes(1, [], [], () => 0), calls: makeLanes(1, [], [], () => 0), overview };
    expect(shown(s, 4)).toEqual([MPI, waiting(N_TO_N), 6, 0]);
  });
});

test('sentences name the causes that cost 1 %, and what the critical path is', () => {
  const pack = loadPack(run.bytes);
  const told = findings(pack);
  const of = (text: string) => told.filter((f) => f.text.includes(text));
  expect(of('makes others wait').map((f) => f.text.replace(/\s/g, ' '))).toEqual([
    `Over the whole run rank 5 makes others wait ${time(0.5 * waited)} (50 % of all waits): 500 µs longer in cluster 2 before MPI_Wait@halo.c:51.`.replace(/\s/g, ' '),
    `Over the whole run rank 3 makes others wait ${time(0.3 * waited)} (30 % of all waits): 500 µs longer in bursts in no cluster before MPI_Wait@halo.c:51.`.replace(/\s/g, ' '),
    `Over the whole run rank 3 makes others wait ${time(0.15 * waited)} (15 % of all waits): in MPI_Wait@halo.c:51.`.replace(/\s/g, ' '),
  ]);
  expect(of('makes others wait')[0]).toMatchObject({ cluster: 2, show: { view: 'waits', selection: { clusters: [2], threads: [[5, 5]] } } });
  expect(of('critical path').map((f) => f.text.replace(/\s/g, ' '))).toEqual(['Over the whole run the critical path is 60 % cluster 1, 25 % cluster 2, 10 % MPI, 5 % not recorded, with 19 changes of rank.']);
  // The last cause has 5 % of the waits, which are 10 % of the time.
  expect(told.some((f) => f.text.includes('rank 1 makes'))).toBe(false);
  const collectives = synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: { whole_run: { ...tableOf(8, endNS / 1e9), basis: 'collectives' } } });
  expect(findings(loadPack(collectives.bytes)).filter((f) => f.text.includes('in collectives ('))).toHaveLength(3);
  const none = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
  expect(findings(loadPack(none.bytes)).filter((f) => /makes others wait|critical path/.test(f.text))).toEqual([]);
});

test('sentences are of main where it is known, and of kinds with their variants', () => {
  const plain = (pack: Pack) => findings(pack).map((f) => f.text.replace(/\s/g, ' ')).filter((text) => /makes others wait|critical path/.test(text));
  const { pack } = ofVariants();
  expect(plain(pack)).toEqual([
    'Over the whole run rank 1 makes others wait 5 s (50 % of all waits): 250 ms longer in cluster 1 (variants 1, 4) before a.',
    'Over the whole run rank 2 makes others wait 2 s (20 % of all waits): 250 ms longer in cluster 1 (variant 4) before a.',
    'Over the whole run rank 1 makes others wait 1 s (10 % of all waits): 250 ms longer in cluster 1 before b.',
    'Over the whole run the critical path is 70 % cluster 1 with its variants, 15 % MPI, 10 % cluster 2, 5 % no cluster, with 3 changes of rank.',
  ]);
  expect(findings(pack).find((f) => f.text.includes('rank 2 makes'))).toMatchObject({ cluster: 1, show: { selection: { clusters: [1, 4] } } });
  const main = synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: { main: tableOf(8, 1) } });
  expect(plain(loadPack(main.bytes)).map((text) => text.split(/ rank | the critical/)[0])).toEqual(Array<string>(4).fill('Within main'));
});

interface Drawn {
  pixels: Record<string, number>;
  colours: Record<string, string>;
  width: number;
  time: { from: number; to: number };
  path: { changes: number; drawn: number; coarse: number } | null;
}

describe('page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const drawn = async (page: Page, good: (d: Drawn) => boolean = () => true): Promise<Drawn> => {
    const read = async () => (await page.evaluate(() => window.__moriens?.drawn['timeline'])) as Drawn | undefined;
    await expect.poll(async () => { const d = await read(); return d ? good(d) : false; }).toBe(true);
    return must(await read());
  };
  const panel = (page: Page, title: string) => page.locator('.panel', { has: page.getByRole('heading', { name: title, exact: true }) });
  const texts = async (page: Page, title: string) => (await panel(page, title).locator('tbody tr').allInnerTexts()).map((s) => s.replace(/\s+/g, ' ').trim());
  const hash = (page: Page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());

  test.each(['light', 'dark'] as const)('the timeline hatches waits by kind, for as long as they take, %s', async (colorScheme) => {
    const { page, errors, close } = await open(browser, report(run.bytes), `view=timeline&probe=1&path=no&messages=no&zoom=0~${2 * run.iterationNS}&rows=0~4`, { colorScheme });
    const d = await drawn(page, (d) => d.time.to === 2 * run.iterationNS);
    const pack = loadPack(run.bytes);
    const [kind, ns] = [pack.column('waits.kind'), pack.column('waits.ns')];
    for (const k of [LATE_SENDER, N_TO_N]) {
      const wanted = sum(Array.from(ns, (v, i) => (kind[i] === k ? v : 0)));
      const pixelNS = (2 * run.iterationNS) / d.width;
      expect(Math.abs((d.pixels[waiting(k)] ?? 0) * pixelNS - wanted)).toBeLessThan(pixelNS * 0.5 * 2 * ns.length);
    }
    const colours = [MPI, waiting(LATE_SENDER), waiting(N_TO_N)].map((code) => d.colours[code]);
    expect(new Set(colours).size).toBe(3);
    expect(kindsOf(pack)).toEqual([LATE_SENDER, N_TO_N]);
    expect(await page.locator('.legend [data-wait]').allInnerTexts()).toEqual([' waits: late sender', ' waits: N-to-N'].map((s) => expect.stringContaining(s.trim()) as string));
    await accessible(page);
    expect(errors).toEqual([]);
    await close();
  });

  test('zoomed out, cells show waits', async () => {
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: {}, bins: 1000 }).bytes), 'view=timeline&probe=1');
    const d = await drawn(page);
    expect(d.pixels[waiting(N_TO_N)]).toBeGreaterThan(0);
    expect(d.path?.changes).toBe(19);
    expect(errors).toEqual([]);
    await close();
  });

  test('the profile divides MPI by what is waited for', async () => {
    const { page, errors, close } = await open(browser, report(run.bytes), 'view=timeline&probe=1');
    await drawn(page);
    const { pixels } = (await page.evaluate(() => window.__moriens?.drawn['profile'])) as { pixels: Record<string, number> };
    const parts = [MPI, waiting(LATE_SENDER), waiting(N_TO_N)].map((code) => pixels[code] ?? 0);
    const all = sum(parts);
    for (const [i, share] of [0.25, 0.25, 0.5].entries()) expect(Math.abs((parts[i] ?? 0) / all - share)).toBeLessThan(0.02);
    expect(errors).toEqual([]);
    await close();
  });

  test('the path is drawn over the whole run, coarsely where its legs are not in the page, which the page says', async () => {
    const half = synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: {}, legs: 10 });
    const { page, errors, close } = await open(browser, report(half.bytes), 'view=timeline&probe=1');
    expect((await drawn(page)).path).toMatchObject({ changes: 9, coarse: must(critical(loadPack(half.bytes))?.coarse).bin.length });
    expect(await page.locator('.canvas-bar').innerText()).toMatch(/exact where calls are kept, elsewhere coarse: in each .* the threads that have most of it/);
    const box = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
    if (!box) throw new Error('no timeline');
    await page.mouse.move(box.x + (box.width * 12.5) / 20, box.y + (box.height * 4.5) / 8);
    await expect.poll(() => page.locator('.tip').innerText()).toMatch(/Critical path, coarsely: rank 4 has 100\s*% of it from/);
    await page.mouse.move(box.x + (box.width * 2.5) / 20, box.y + (box.height * 2.5) / 8);
    await expect.poll(() => page.locator('.tip').innerText()).toMatch(/On the critical path/);
    expect(errors).toEqual([]);
    await close();
  });

  test('pointing at a wait says for whom, a click leads to the causes, and the path can be switched off', async () => {
    const { page, errors, close } = await open(browser, report(run.bytes), `view=timeline&probe=1&messages=no&zoom=0~${run.iterationNS}&rows=0~4`);
    await drawn(page, (d) => d.time.to === run.iterationNS);
    const box = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
    if (!box) throw new Error('no timeline');
    // The first call of rank 1: late sender, for rank 3.
    const pack = loadPack(run.bytes);
    const row = Array.from(pack.column('calls.thread')).indexOf(1);
    const [enter, exit] = [must(pack.column('calls.enter_ns')[row]), must(pack.column('calls.exit_ns')[row])];
    const x = (ns: number) => box.x + (box.width * ns) / run.iterationNS;
    const y = (rank: number) => box.y + (box.height * (rank + 0.5)) / 4;
    const ms = time((exit - enter) / 2e9);
    await page.mouse.move(x((enter * 3 + exit) / 4), y(1));
    await expect.poll(() => page.locator('.tip').innerText()).toContain(`Waits ${ms} for rank 3 (late sender, MPI_Wait@halo.c:51): rank 3 began to send ${ms} later.`);
    await page.mouse.move(x(enter / 2), y(0));
    await expect.poll(() => page.locator('.tip').innerText()).toMatch(/On the critical path in cluster 1, for .*: rank 0 has it for .*, from 0\s*s, then rank 1\./);
    expect((await drawn(page)).path).not.toBeNull();
    await page.keyboard.press('p');
    await drawn(page, (d) => d.path === null);
    expect(await page.getByLabel('Critical path').isChecked()).toBe(false);
    await page.mouse.move(x(enter / 2), y(0) + 3);
    await expect.poll(() => page.locator('.tip').innerText()).not.toContain('critical path');
    await page.mouse.click(x((enter * 3 + exit) / 4), y(1));
    await page.getByRole('button', { name: 'Why rank 3 is late: its causes' }).click();
    await expect.poll(() => hash(page)).toContain('threads=3');
    expect(await texts(page, 'Who makes others wait, and by what')).toEqual([expect.stringMatching(/^rank 3 .*no cluster/), expect.stringMatching(/^rank 3 .*MPI/)]);
    expect(errors).toEqual([]);
    await close();
  });

  test('the view lists causes, kinds, links and the path, and selects what they are of', async () => {
    const { page, errors, close } = await open(browser, report(run.bytes), 'view=waits');
    const causes = await texts(page, 'Who makes others wait, and by what');
    expect(causes).toHaveLength(4);
    expect(causes[0]).toBe(`rank 5 cluster 2 MPI_Wait@halo.c:51 ${time(0.5 * waited)} 50 % ${time(0.4 * waited)} 40 500 µs`.replace(/\s+/g, ' '));
    expect(await panel(page, 'Who makes others wait, and by what').innerText()).toContain('17 in all; here are the 4 largest');
    expect(await panel(page, 'On the critical path, by cluster and call path').innerText()).toContain('7 in all; here are the 5 largest');
    expect((await texts(page, 'Waits by kind')).map((s) => s.split(' ')[0])).toEqual(['N-to-N', 'late']);
    expect(await texts(page, 'Waits by call path')).toHaveLength(2);
    expect((await texts(page, 'Who waits for whom in messages'))[0]).toMatch(/^rank 3 rank 5 20 /);
    expect(await page.locator('[data-part]').evaluateAll((parts) => parts.map((p) => [p.getAttribute('data-part'), Math.round(parseFloat(p.getAttribute('width') ?? ''))]))).toEqual([
      ['cluster 1', 60], ['cluster 2', 25], ['MPI', 10], ['not recorded', 5],
    ]);
    expect(await page.locator('.unknown').innerText()).toMatch(/Nothing: each wait has its cause\.[^]*up to 4\s*KiB within a node did not wait/);
    await panel(page, 'Who makes others wait, and by what').getByRole('button', { name: 'rank 5' }).click();
    await expect.poll(() => hash(page)).toMatch(/cluster=2&threads=5|threads=5&cluster=2/);
    expect(await panel(page, 'Who makes others wait, and by what').locator('tr.chosen').count()).toBe(1);
    await page.getByLabel('Only what is selected').check();
    await expect.poll(() => texts(page, 'Who makes others wait, and by what')).toHaveLength(1);
    await panel(page, 'Who makes others wait, and by what').getByRole('button', { name: 'rank 5' }).click();
    await expect.poll(() => hash(page)).not.toContain('threads');
    await accessible(page);
    expect(errors).toEqual([]);
    await close();
  });

  test('what is not known is said', async () => {
    const whole = { ...tableOf(8, endNS / 1e9), basis: 'collectives', marked: true, uncertain_seconds: 0.002, unexplained_seconds: 0.003, contradictions: 4, collectives_incomplete: 5, collectives_not_synchronising: 6, messages_one_sided: 7, links: [], links_total: 0, not_explained: [{ what: 'one-sided synchronisation', calls: 8, seconds: 0.004 }] };
    const { bytes } = synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: { whole_run: whole, windows: tableOf(8, 1), why: ['files cannot tell'] } });
    const { page, errors, close } = await open(browser, report(bytes), 'view=waits');
    const said = (await page.locator('.unknown').innerText()).replace(/\s/g, ' ');
    for (const words of [
      'Files cannot tell.', 'Clocks do not agree', 'Uncertain: 2 ms more look like waits', 'the cause of 3 ms of the waits', 'Contradictions: 4 calls ended before', 'not all members of 5 collectives', 'in 6 collectives a member left', 'waits for 7 messages', 'Not explained: one-sided synchronisation: 8 calls, 4 ms',
    ]) {
      expect(said).toContain(words);
    }
    expect(await panel(page, 'Waiting').innerText()).toMatch(/collectives only: waits for messages are in the residual[^]*Residual: in MPI, not waiting[^]*Not explained\s+4\s*ms/);
    expect(await panel(page, 'Who waits for whom in messages').innerText()).toContain('Not known: waits for messages are in the residual.');
    await page.getByLabel('Within').selectOption('kept windows');
    await expect.poll(() => hash(page)).toContain('waits=windows');
    expect(await panel(page, 'Who waits for whom in messages').locator('tbody tr').count()).toBe(1);
    expect(errors).toEqual([]);
    await close();
  });

  test('main is shown where it is known, and the whole run at a choice, for the columns of clusters too', async () => {
    const main = { ...tableOf(8, 0.5), begin_seconds: 0.25, end_seconds: 0.75 };
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, waits: { main } }).bytes), 'view=waits');
    const waiting = async () => (await panel(page, 'Waiting').locator('tbody tr').first().innerText()).replace(/\s/g, ' ');
    expect(await panel(page, 'Waiting').innerText()).toContain('Within main, collectives and messages');
    expect(await waiting()).toContain(time(0.1 * 8 * 0.5).replace(/\s/g, ' '));
    expect(await panel(page, 'Critical path').innerText()).toContain('Within main: ');
    await page.getByLabel('Within').selectOption('whole run');
    await expect.poll(waiting).toContain(time(waited).replace(/\s/g, ' '));
    await expect.poll(() => hash(page)).toContain('waits=run');
    const head = page.locator('table.sortable th button', { hasText: 'Makes others wait' });
    for (const [address, says, seconds] of [['view=clusters', '; within main; ', 0.5], ['view=clusters&within=run', '; over the whole run; ', endNS / 1e9]] as const) {
      await page.evaluate((a) => (location.hash = a), address);
      await expect.poll(() => page.locator('tr[data-cluster="2"]').innerText()).toContain(time(0.5 * 0.1 * 8 * seconds));
      expect(await head.getAttribute('title')).toContain(says);
    }
    expect(errors).toEqual([]);
    await close();
  });

  test('the row of a kind has the sums of its clusters, in the view and in the table of clusters', async () => {
    const { made, pack } = ofVariants();
    const { page, errors, close } = await open(browser, report(made.bytes), 'view=waits');
    const rows = await texts(page, 'Who makes others wait, and by what');
    expect(rows).toEqual([expect.stringMatching(/^rank 1 cluster 1 \(variants 1, 4\) a 5 s/), expect.stringMatching(/^rank 2 cluster 1 \(variant 4\) a 2 s/), expect.stringMatching(/^rank 1 cluster 1 b 1 s/), expect.stringMatching(/^rank 1 no cluster a/)]);
    expect((await panel(page, 'On the critical path, by cluster and call path').innerText()).replace(/\s/g, ' ')).toContain('9 in all; here are the 4 largest, the others have 1 s together');
    expect(await page.locator('[data-part]').evaluateAll((parts) => parts.map((p) => p.getAttribute('data-part')))).toEqual(['cluster 1', 'MPI', 'cluster 2', 'no cluster']);
    expect(await page.locator('.timebar rect.variant').evaluateAll((parts) => parts.map((p) => [p.getAttribute('x'), p.getAttribute('width')]))).toEqual([['0%', '40%']]);
    const ends = await page.locator('[data-part="no cluster"]').evaluate((p) => p.getBoundingClientRect().right - (p.closest('svg')?.getBoundingClientRect().right ?? 0));
    expect(Math.abs(ends)).toBeLessThan(1);
    await panel(page, 'Who makes others wait, and by what').getByRole('button', { name: 'rank 2' }).click();
    await expect.poll(() => hash(page)).toMatch(/cluster=1(%2C|,)4/);
    await page.evaluate(() => (location.hash = 'view=clusters&sort=-caused'));
    await page.waitForSelector('table.sortable');
    const heads = await page.locator('table.sortable thead th').allInnerTexts();
    const at = (title: string) => heads.findIndex((h) => h.includes(title)) - 1;
    const cell = (id: number, title: string) => page.locator(`tr[data-cluster="${id}"] td`).nth(at(title));
    expect(await cell(1, 'Makes others wait').innerText()).toBe(time(8));
    expect(await cell(1, 'Makes others wait').getAttribute('title')).toBe(`variant 4 ${time(5)}, variant 1 ${time(3)}`);
    expect(await cell(1, 'Imbalance').innerText()).toBe(time(1));
    expect(await cell(4, 'Makes others wait').innerText()).toBe(time(5));
    expect(await cell(4, 'Makes others wait').getAttribute('title')).toContain('cluster 1');
    expect(pack.json.clusters?.clusters.find((c) => c.id === 4)?.kind).toBe(1);
    expect(errors).toEqual([]);
    await close();
  });

  test('without waits the view says why', async () => {
    for (const [waits, words] of [[undefined, /no waits\.json/], [{ whole_run: null, why: ['the bursts stay on their nodes'] }, /not known: the bursts stay on their nodes\./]] as const) {
      const { bytes } = synthetic({ ranks: 2, iterations: 3, clusters: 2, ...(waits ? { waits } : {}) });
      const { page, errors, close } = await open(browser, report(bytes), 'view=waits');
      expect(await page.locator('main').innerText()).toMatch(words);
      expect(await page.locator('main table').count()).toBe(0);
      await page.evaluate(() => (location.hash = 'view=clusters'));
      await page.waitForSelector('table.sortable');
      expect(await page.locator('table.sortable thead').innerText()).not.toContain('Makes others wait');
      expect(errors).toEqual([]);
      await close();
    }
  });

  test('clusters say what they cost', async () => {
    const { page, errors, close } = await open(browser, report(run.bytes), 'view=clusters&sort=-caused');
    const cellsOf = async (id: number) => (await page.locator(`tr[data-cluster="${id}"] td`).allInnerTexts()).map((s) => s.replace(/\s/g, ' '));
    const heads = await page.locator('table.sortable thead th').allInnerTexts();
    const at = (title: string) => heads.findIndex((h) => h.includes(title)) - 1;
    expect(await page.locator('table.sortable tbody tr').first().getAttribute('data-cluster')).toBe('2');
    const two = await cellsOf(2);
    expect([two[at('Makes others wait')], two[at('On path')], two[at('Imbalance')]]).toEqual([time(0.5 * waited), '25 %', '20 ms'].map((s) => s.replace(/\s/g, ' ')));
    expect((await cellsOf(3))[at('On path')]).toBe('–');
    expect(errors).toEqual([]);
    await close();
  });
});
