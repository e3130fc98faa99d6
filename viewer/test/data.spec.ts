// What needs no browser: packs, addresses, ranges, numbers, tables.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findings } from '../src/data/findings';
import { partsOf, readEfficiency, tree, whyNot, type Factors } from '../src/data/efficiency';
import { lossesOf } from '../src/data/losses';
import { readManifest } from '../src/data/manifest';
import { overheadOf } from '../src/data/overhead';
import { briefPath } from '../src/data/names';
import { loadPack, PackError, type Pack } from '../src/data/pack';
import * as format from '../src/format';
import { rgbOf } from '../src/rgb';
import { toCSV } from '../src/save/csv';
import { traceOf } from '../src/save/perfetto';
import { NOTHING, parseState, printState } from '../src/state/hash';
import { inRanges, mergeRanges, parseRanges, printRanges } from '../src/state/ranges';
import { packBytes } from './pack';
import { synthetic } from './synthetic';

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });

describe('packs', () => {
  test('columns come back as they were written, wherever the bytes lie', () => {
    const shifted = Buffer.concat([Buffer.alloc(3), run.bytes]).subarray(3);
    for (const bytes of [run.bytes, shifted]) {
      const pack = loadPack(bytes);
      expect(pack.json.points.count).toBe(run.points);
      expect(pack.column('points.duration')).toBeInstanceOf(Float64Array);
      const sums = new Array<number>(run.seconds.length).fill(0);
      pack.column('points.duration').forEach((ns, i) => {
        const id = Math.max(0, pack.column('points.cluster')[i] ?? 0);
        sums[id] = (sums[id] ?? 0) + ns / 1e9;
      });
      sums.forEach((s, id) => expect(s).toBeCloseTo(run.seconds[id] ?? NaN, 9));
      expect(pack.column('no.such').length).toBe(0);
    }
  });

  const damaged: [string, Buffer, RegExp][] = [
    ['nothing', Buffer.alloc(0), /do not begin/],
    ['another version', Buffer.concat([Buffer.from('MORIENSPAGE2\n'), run.bytes.subarray(13)]), /another version/],
    ['cut in its description', run.bytes.subarray(0, 200), /cut off/],
    ['cut in its columns', run.bytes.subarray(0, run.bytes.length - 8), /cut off/],
    ['a newer format', packBytes({ ...run.json, format: 2 }, {}), /format 2; this page reads format 1/],
    ['no JSON', Buffer.concat([run.bytes.subarray(0, 24), Buffer.alloc(run.bytes.length - 24, 0x20)]), /not JSON/],
    ['a list', Buffer.concat([header(2), Buffer.from('[]'), Buffer.alloc(6)]), /not an object/],
    ['a short column', packBytes(run.json, { 'points.cluster': new Int32Array(3) }), /points\.cluster has 3 rows/],
    ['an odd offset', described('{"format":1,"columns":{"a":{"type":"u8","offset":1,"length":1}}}'), /column a is described wrongly/],
    ['an endless column', described('{"format":1,"columns":{"a":{"type":"f64","offset":0,"length":9007199254740991}}}'), /cut off/],
    ['a column without end', described('{"format":1,"columns":{"a":{"type":"f64","offset":0,"length":1e300}}}'), /described wrongly/],
    ['an inherited type', described('{"format":1,"columns":{"a":{"type":"toString","offset":0,"length":1}}}'), /described wrongly/],
  ];
  test.each(damaged)('%s is reported', (_, bytes, said) => {
    expect(() => loadPack(bytes)).toThrow(PackError);
    expect(() => loadPack(bytes)).toThrow(said);
  });

  test('fields that are missing, of another type or inherited become defaults', () => {
    const pack = loadPack(packBytes({ format: 1, manifest: { ranks: 'many', hosts: {}, score: null, mpi_calls: JSON.parse('{"__proto__": 3}') as unknown } }, {}));
    const m = pack.json.manifest;
    expect(m?.ranks).toBe(0);
    expect(m?.hosts).toEqual([]);
    expect(m?.score).toBeNaN();
    expect(m?.mpi_calls.get('__proto__')).toBe(3);
    expect(pack.json.clusters).toBeNull();
    expect(findings(pack)).toEqual([]);
  });
});

function header(jsonBytes: number): Buffer {
  const h = Buffer.alloc(24);
  h.write('MORIENSPAGE1\n', 'latin1');
  h.writeUInt32LE(jsonBytes, 16);
  return h;
}

function described(json: string): Buffer {
  const text = Buffer.from(json);
  return Buffer.concat([header(text.length), text, Buffer.alloc(16)]);
}

describe('addresses', () => {
  test('say the whole state and give it back', () => {
    const state = {
      view: 'timeline',
      selection: { clusters: [2, -1], threads: parseRanges('0-3,7'), fromNS: 1.5, toNS: 2e9, level: 3, line: 12 },
      params: new Map([['x', 'PAPI_TOT_INS:log & more']]),
    };
    const said = printState(state);
    expect(said).toContain('view=timeline&cluster=2,-1&threads=0-3,7&from=1.5&to=2000000000&level=3&line=12');
    expect(parseState(`#${said}`)).toEqual(state);
  });

  test.each(['', '#', '#view', '#cluster=a&threads=1-&from=x&to=&level=-1', '#cluster=1e9999&threads=,&level=1.5&line=0', '#%', '#%E0%A4%A'])('nonsense selects nothing: %s', (hash) => {
    expect(parseState(hash).selection).toEqual(NOTHING);
  });

  test('a range of time can be said backwards', () => {
    expect(parseState('#from=9&to=3').selection).toMatchObject({ fromNS: 3, toNS: 9 });
  });
});

describe('ranges', () => {
  test('are merged, printed and searched', () => {
    const r = mergeRanges([
      [7, 9],
      [0, 3],
      [4, 5],
      [8, 12],
    ]);
    expect(printRanges(r)).toBe('0-5,7-12');
    const held = Array.from({ length: 15 }, (_, i) => i).filter((n) => inRanges(r, n));
    expect(held).toEqual([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]);
    expect(inRanges(null, 99)).toBe(true);
    expect(inRanges([], 0)).toBe(false);
  });
});

test('numbers beyond all measure stay short', () => {
  const f = [format.count, format.ns, format.seconds, format.bytes, format.percent, (v: number) => format.quantity(v), format.ratio];
  for (const v of [1e18, 1e40, 1e290, -1e290, Number.MAX_VALUE]) for (const said of f.map((g) => g(v))) expect(said.length).toBeLessThan(24);
  expect(format.percent(1e16).replace('\u202f', ' ')).toBe('1.00e+18 %');
  expect(format.count(2 ** 52)).toBe('4,503,599,627,370,496');
});

test('numbers read well', () => {
  const plain = (s: string) => s.replace(/\u202f/g, ' ');
  const said: [string, string][] = [
    [format.ns(0), '0 s'],
    [format.ns(999.4), '999 ns'],
    [format.ns(999.6), '1 µs'],
    [format.ns(1234567), '1.23 ms'],
    [format.ns(-2.5e9), '-2.5 s'],
    [format.ns(4.12345e12), '4,123 s'],
    [format.ns(NaN), '–'],
    [format.bytes(1000), '0.977 KiB'],
    [format.bytes(64 * 2 ** 20), '64 MiB'],
    [format.bytes(12), '12 B'],
    [format.percent(0.31), '31 %'],
    [format.percent(0.00001), '<0.01 %'],
    [format.percent(0.98423), '98.4 %'],
    [format.percent(0), '0 %'],
    [format.quantity(1646729111), '1.65 G'],
    [format.quantity(0.25), '0.25'],
    [format.quantity(0), '0'],
    [format.quantity(1e-9), '1.00e-9'],
    [format.quantity(2048, 'bytes'), '2 KiB'],
    [format.count(1234567), '1,234,567'],
    [format.plural(1, 'rank'), '1 rank'],
    [format.list(['a', 'b', 'c']), 'a, b and c'],
    [format.cluster(-1), 'noise'],
  ];
  for (const [got, want] of said) expect(plain(got)).toBe(want);
});

test('CSV keeps what it is given and runs nothing', () => {
  const csv = toCSV({ columns: ['name', 'seconds'], rows: [['a,"b"\n', 0.1], ['=HYPERLINK("x")', NaN], ['-1', null]] });
  expect(csv).toBe('name,seconds\r\n"a,""b""\n",0.1\r\n"\'=HYPERLINK(""x"")",\r\n\'-1,\r\n');
});

describe('findings', () => {
  const pack = loadPack(run.bytes);
  const texts = findings(pack).map((f) => f.text.replace(/\u202f/g, ' '));

  test('tell of the slow rank what the data say', () => {
    const mine = (rank: number) => {
      let sum = 0;
      pack.column('points.thread').forEach((t, i) => {
        if (t === rank && pack.column('points.cluster')[i] === 2) sum += pack.column('points.duration')[i] ?? 0;
      });
      return sum / 1e9;
    };
    const others = Array.from({ length: 8 }, (_, r) => mine(r)).sort((a, b) => a - b);
    const median = others[3] ?? 0; // the lower one
    const more = format.percent(mine(run.slowRank) / median - 1).replace(/\u202f/g, ' ');
    expect(texts).toContainEqual(expect.stringMatching(new RegExp(`^Rank 5 spends ${more.replace('.', '\\.')} more in cluster 2 than its class`)));
  });

  test('tell of iterations, balance and MPI', () => {
    expect(texts).toContainEqual(expect.stringMatching(/^The run repeats: 20 iterations of 4 bursts/));
    expect(texts).toContainEqual(expect.stringMatching(/^Within main the load balance is 9\d[.\d]* %: rank 5 computes .*; most is lost in cluster 2: [\d.]+ ms\.$/));
    expect(texts).toContainEqual(expect.stringMatching(/of the ranks' time is in MPI/));
  });

  test('have the balance, the time in MPI and IPC from efficiency.json alone', () => {
    const planted = synthetic({
      ranks: 8, iterations: 20, clusters: 4,
      efficiency: { load_balance: 0.4321, mean_computing_seconds: 7, most_computing_seconds: 9, stretches: [], budget: { total_seconds: 200, mpi_seconds: 24.6 } },
    });
    const said = findings(loadPack(planted.bytes)).map((f) => f.text.replace(/\u202f/g, ' '));
    expect(said).toContainEqual(expect.stringMatching(/^Within main the load balance is 43\.2 %: rank 5 computes for 9 s, ranks on average for 7 s; /));
    expect(said).toContainEqual(expect.stringMatching(/^Over the whole run 12\.3 % of the ranks' time is in MPI/));
    expect(said).toContainEqual(expect.stringMatching(/^Cluster 1 completes 0\.75 instructions a cycle, .* cluster 4 completes 1\.5\.$/));
    const none = findings(loadPack(synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: null }).bytes)).map((f) => f.text);
    expect(none.filter((s) => /load balance|in MPI|a cycle/.test(s))).toEqual([]);
    expect(none.length).toBeGreaterThan(0);
  });
});

describe('findings of what the manifest tells', () => {
  const pack = loadPack(run.bytes);
  const kept = pack.json.manifest?.kept;
  const [phase] = kept?.phases ?? [];
  const [outlier] = kept?.outliers ?? [];
  const findingsOf = (other: object) => {
    const manifest = readManifest({ ...pack.json.manifest, kept: { ...kept, ...other } });
    return findings(Object.create(pack, { json: { value: { ...pack.json, manifest } }, column: { value: pack.column.bind(pack) } }) as Pack);
  };
  const textsOf = (other: object) => findingsOf(other).map((f) => f.text.replace(/\u202f/g, ' '));

  test('tell the loops within an iteration, and within their trips', () => {
    const loop = (depth: number, bursts: number, least: number, most: number) => ({ depth, period_bursts: bursts, min_trips: least, max_trips: most });
    const within = (...inner: object[]) => textsOf({ phases: [{ ...phase, inner }] }).find((s) => s.startsWith('The run repeats'))?.split('match the usual iteration.')[1];
    expect(within()).toBe('');
    expect(within(loop(1, 12, 10, 19))).toBe(' Within an iteration 12 bursts come 10 to 19 times.');
    expect(within(loop(1, 9, 4, 4), loop(2, 1, 3, 3), loop(1, 2, 1, 5))).toBe(' Within an iteration 9 bursts come 4 times (in each of which 1 burst comes 3 times), 2 bursts come 1 to 5 times.');
    expect(within(...[1, 2, 3, 4, 5].map((n) => loop(1, n + 1, 3, 3)))).toMatch(/4 bursts come 3 times, and so do 2 other loops\.$/);
  });

  test('tell each phase that repeats, in the order of time, of more than three the longest', () => {
    const at = (begin: number, end: number) => ({ ...phase, begin_ns: begin * 1e9, end_ns: end * 1e9 });
    expect(textsOf({ phases: [at(0, 2), at(2, 7)] }).filter((s) => /repeat/.test(s))).toEqual([
      expect.stringMatching(/^The run repeats: 20 iterations .* from 0 s to 2 s\. 99 % /),
      expect.stringMatching(/^Then it repeats differently: 20 iterations .* from 2 s to 7 s\. 99 % /),
    ]);
    expect(textsOf({ phases: [at(0, 2), at(2, 3), at(3, 7), at(7, 9)] }).filter((s) => /repeat/.test(s))).toEqual([
      expect.stringMatching(/ from 0 s to 2 s, of 4 phases that repeat one of the 3 longest\. /),
      expect.stringMatching(/ from 3 s to 7 s, of 4 phases /),
      expect.stringMatching(/ from 7 s to 9 s, of 4 phases /),
    ]);
  });

  test('tell of a slow rank once', () => {
    const about = (reason: string, cause?: string, cluster?: number) =>
      textsOf({ outliers: [{ ...outlier, reason, cause, cluster }] }).filter((s) => /^Rank 5 .* (more (time )?in|time in) cluster 2/.test(s));
    const twice = "spends 31 % more time in cluster 2 than its class's median (1.31 s, median 1.00 s)";
    expect(about(twice, 'computing', 2)).toEqual([`Rank 5 is unlike its class: it ${twice}.`]);
    const times = "spends 2.31 times as much time in cluster 2 as its class's median (2.31 s, median 1.00 s)";
    expect(about(times, 'computing', 2)).toEqual([`Rank 5 is unlike its class: it ${times}.`]);
    expect(about('is slow: the words are for people', 'computing', 2)).toEqual([]);
    expect(about("spends 31 % more time in cluster 22 than its class's median (1.31 s, median 1.00 s)", 'computing', 22)).toHaveLength(2);
    expect(about(twice, 'calls', 2)).toHaveLength(2);
    expect(about(twice)).toHaveLength(2); // of an older version
  });

  test('lead to the cluster that makes a rank unlike its class, where the manifest names it', () => {
    const shown = (fields: object) => {
      const [found] = findingsOf({ outliers: [{ ...outlier, reason: 'is slow', ...fields }] }).filter(({ text }) => text === 'Rank 5 is unlike its class: it is slow.');
      return found && { cluster: found.cluster, selection: found.show?.selection };
    };
    const threads = [[5, 5]];
    expect(shown({ cause: 'computing', cluster: 2 })).toEqual({ cluster: 2, selection: { clusters: [2], threads } });
    expect(shown({ cause: 'waiting' })).toEqual({ cluster: undefined, selection: { threads } });
    expect(shown({ cause: 'computing' })).toEqual({ cluster: undefined, selection: { threads } }); // in bursts of no cluster
    expect(shown({})).toEqual({ cluster: undefined, selection: { threads } }); // of an older version
    expect(shown({ cause: 7, cluster: 'x' })).toEqual({ cluster: undefined, selection: { threads } });
  });
});

describe('efficiency', () => {
  const factors = {
    seconds: 10, mean_computing_seconds: 6, most_computing_seconds: 8, parallel_efficiency: 0.6, load_balance: 0.75, load_balance_in_nodes: 0.875, load_balance_between_nodes: 6 / 7,
    communication_efficiency: 0.8, serialisation_efficiency: null, transfer_efficiency: null, most_computing: { world: 0, rank: 3, thread: 0 },
  };
  const read = (run: object) => {
    const e = readEfficiency({ within: 'main', runs: [{ locations: 4, ...factors, ...run }] });
    if (!e) throw new Error('there is a run');
    return e;
  };
  const rowsOf = (f: Factors) => tree(f).map((r) => [r.name, r.ratio, r.to - r.from]);

  test('each factor has the ratio of the file and the time that it costs, and those of the innermost add up', () => {
    expect(rowsOf(read({}))).toEqual([
      ['Parallel efficiency', 0.6, 4],
      ['Load balance', 0.75, 2],
      ['in nodes', 0.875, 1],
      ['between nodes', 6 / 7, 1],
      ['Communication', 0.8, 2],
      ['serialisation', NaN, NaN],
      ['transfer', NaN, NaN],
    ]);
    const rows = tree(read({}));
    expect(rows.map((r) => [r.from, r.to])).toEqual([[6, 10], [6, 8], [7, 8], [6, 7], [8, 10], [NaN, NaN], [NaN, NaN]]);
    // Ratios are printed as they are in the file, whatever the times say.
    expect(tree(read({ load_balance: 0.1, parallel_efficiency: null })).map((r) => r.ratio).slice(0, 2)).toEqual([NaN, 0.1]);
  });

  test('one node costs nothing between nodes, whatever the last digit of a float is', () => {
    const third = 1 / 3;
    const one = read({ mean_computing_seconds: third, most_computing_seconds: 0.4, load_balance: third / 0.4, load_balance_in_nodes: third / 0.4 + 1e-16, load_balance_between_nodes: 1 });
    const rows = new Map(rowsOf(one).map(([name, , lost]) => [name, lost]));
    expect(rows.get('between nodes')).toBe(0);
    expect(rows.get('in nodes')).toBe(rows.get('Load balance'));
  });

  test('nodes that are not known have no seconds', () => {
    const rows = rowsOf(read({ load_balance_in_nodes: null, load_balance_between_nodes: null }));
    expect(rows.slice(1, 4)).toEqual([['Load balance', 0.75, 2], ['in nodes', NaN, NaN], ['between nodes', NaN, NaN]]);
  });

  test('parts are the stretches and the phases, and a phase may have the name of a stretch', () => {
    const e = read({ stretches: [{ within: 'run' }, { within: 'loop' }], phases: [{ name: 'run', phase: null, iterations: 3 }, { name: '', phase: 1, iterations: 20 }] });
    expect(partsOf(e).map((p) => [p.key, p.title, p.own, p.clusters === null])).toEqual([
      ['main', 'main', true, false],
      ['run', 'whole run', false, false],
      ['loop', 'loop', false, false],
      ['name:run', 'run', false, true],
      ['iterations:1', 'phase 1', false, true],
    ]);
  });

  test('what has no figure says why', () => {
    const e = read({ clusters: [{ id: 1, ranks: 3 }, { id: 2, ranks: 4 }], phases: [{ name: 'x', phase: null }] });
    const [main, phase] = partsOf(e);
    const why = (id: number, ipc = false, part = main) => whyNot(e, part ?? null, id, ipc).replace(/\u202f/g, ' ');
    expect(why(1)).toBe('only 3 threads of 4 threads compute it');
    expect(why(2)).toBe('not defined');
    expect(why(3)).toBe('it has no burst within main');
    expect(why(-1)).toMatch(/in no cluster/);
    expect(why(1, true)).toMatch(/PAPI_TOT_INS/);
    expect(why(1, false, phase)).toBe('not known within x: a phase has no figures of clusters');
  });

  test('a file of no run, or of another shape, is none', () => {
    for (const v of [null, {}, { runs: 3 }, { runs: [] }]) expect(readEfficiency(v)).toBeNull();
    expect(partsOf(read({ stretches: 'x', phases: [7], clusters: [null], most_computing: 'me' }))).toHaveLength(2);
  });
});

test('losses are listed by cause, each with its number', () => {
  const losses = { records_dropped: 1, windows_evicted: 2, transfers_lost: 3, ranks_died: [{ world: 0, rank: 3, how: 'signal 9', cut_off: true }], counters_unavailable: ['PAPI_L3_TCM'] };
  expect(lossesOf(readManifest({ losses }))).toEqual([
    '1 MPI call was dropped: its ring buffer was full',
    '2 windows of full detail were evicted on their nodes, for lack of space',
    '3 transfers of kept MPI calls are not known: their nodes did not send them',
    'not measured on some rank: PAPI_L3_TCM',
    'rank 3 ended without MPI_Finalize (signal 9); what it did last is missing',
  ]);
  expect(lossesOf(readManifest({ losses: { agents_unfinished: ['n1', 'n2'] } }))).toEqual(['2 agents did not finish, on n1, n2']);
  expect(lossesOf(readManifest({}))).toEqual([]);
});

test('ranks that died together are reported together', () => {
  const ranks = (how: string, cutOff: boolean, ...of: number[]) => of.map((rank) => ({ world: 0, rank, how, cut_off: cutOff }));
  const lossTexts = (died: object[], worlds = 1) => lossesOf(readManifest({ worlds: Array.from({ length: worlds }, () => ({})), losses: { ranks_died: died } })).map((s) => s.replace(/\u202f/g, ' '));
  expect(lossTexts([...ranks('ended without MPI_Finalize', false, 3, 0, 1, 2, 7), ...ranks('MPI_Abort', false, 4), ...ranks('the agent on n2 did not finish', true, 5, 6)])).toEqual([
    'ranks 0–3, 7 ended without MPI_Finalize',
    'rank 4 ended without MPI_Finalize (MPI_Abort)',
    'ranks 5–6 ended without MPI_Finalize (the agent on n2 did not finish); what they did last is missing',
  ]);
  expect(lossTexts([...ranks('MPI_Abort', false, 4), { world: 1, rank: 4, how: 'MPI_Abort', cut_off: false }], 2)).toEqual([
    'world 0 rank 4 ended without MPI_Finalize (MPI_Abort)',
    'world 1 rank 4 ended without MPI_Finalize (MPI_Abort)',
  ]);
  expect(lossTexts(ranks('', false, ...Array.from({ length: 20 }, (_, i) => 2 * i)))).toEqual(['20 ranks ended without MPI_Finalize']);
});

test('every number of manifest.losses has words', () => {
  const source = readFileSync(new URL('../src/data/losses.ts', import.meta.url), 'utf8');
  // These two lose no data (docs/format/manifest.md), nor does a restart; evicted bytes are those of evicted windows.
  const silent = new Set(['batches_resent', 'batches_duplicate', 'collector_restarts', 'spool_evicted_bytes']);
  for (const name of Object.keys(readManifest({}).losses)) {
    if (!silent.has(name)) expect(source).toContain(`l.${name}`.replace('l.ranks_died', 'm.losses.ranks_died'));
  }
});

describe('the trace for Perfetto', () => {
  const pack = loadPack(run.bytes);
  const trace = JSON.parse(traceOf(pack).join('')) as { traceEvents: { ph: string; cat?: string; name: string; ts: number; dur: number; pid: number; id?: number }[] };
  const of = (cat: string) => trace.traceEvents.filter((e) => e.cat === cat);

  test('has every burst, call and both ends of every message', () => {
    expect(of('burst').length).toBe(run.points);
    expect(of('mpi').length).toBe(pack.json.detail.calls);
    const ends = of('message');
    expect(ends.length).toBe(2 * pack.json.detail.messages);
    const began = new Map(ends.filter((e) => e.ph === 's').map((e) => [e.id, e.ts]));
    for (const e of ends.filter((e) => e.ph === 'f')) expect(e.ts).toBeGreaterThanOrEqual(began.get(e.id) ?? Infinity);
  });

  test('adds up to the same time, in µs, by cluster', () => {
    for (let id = 1; id <= 4; id++) {
      const us = of('burst').filter((e) => e.name === `cluster ${id}`).reduce((sum, e) => sum + e.dur, 0);
      expect(us / 1e6).toBeCloseTo(run.seconds[id] ?? NaN, 6);
    }
  });

  test('names ranks', () => {
    expect(trace.traceEvents.filter((e) => e.name === 'process_name').length).toBe(8);
  });

  test('leaves out the sample, which stands for others', () => {
    const sampled = loadPack(synthetic({ ranks: 8, iterations: 20, clusters: 4, page: { points: { count: run.points, of: run.points * 2, how: 'kept windows and a sample' } } }).bytes);
    const bursts = (JSON.parse(traceOf(sampled).join('')) as typeof trace).traceEvents.filter((e) => e.cat === 'burst');
    expect(bursts.length).toBe(4 * 2 * 4); // of 4 ranks 2 iterations of 4 bursts are in a window
  });
});

test('colours are read as style sheets write them, shortened or not', () => {
  expect(rgbOf('#fff')).toEqual([255, 255, 255]);
  expect(rgbOf('#0af')).toEqual([0, 170, 255]);
  expect(rgbOf('#0072b2')).toEqual([0, 114, 178]);
});

test('a damaged pack is read or refused, in words, whatever is damaged', () => {
  const whole = synthetic({ ranks: 2, iterations: 3, clusters: 2 }).bytes;
  const json = 24 + whole.readUInt32LE(16);
  let seed = 7;
  const random = (n: number) => (seed = (Math.imul(seed, 48271) >>> 0) % 0x7fffffff) % n;
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    let bytes = Buffer.from(whole);
    // Mostly the description: numbers, names and lengths in it.
    for (let k = 0; k <= random(3); k++) bytes[random(4) ? random(json) : random(bytes.length)] = random(3) ? 48 + random(10) : random(256);
    if (random(4) === 0) bytes = bytes.subarray(0, random(bytes.length));
    try {
      const pack = loadPack(bytes);
      const ranks = pack.column('thread.rank').length;
      if (ranks !== 0 && ranks !== pack.json.threads) throw new Error(`${ranks} ranks of ${pack.json.threads}`);
    } catch (err) {
      expect(err, `damage ${i}: ${String(err)}`).toBeInstanceOf(PackError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(100);
});

test('call paths are brief where there is little room', () => {
  expect(briefPath('MPI_Irecv@LAMMPS_NS::CommBrick::reverse_comm')).toBe('MPI_Irecv@…::reverse_comm');
  expect(briefPath('MPI_Bcast@LAMMPS_NS::Input::file(+0x459668)')).toBe('MPI_Bcast@…::file');
  expect(briefPath('MPI_Send@main')).toBe('MPI_Send@main');
  expect(briefPath('MPI_Send@halo.c:51')).toBe('MPI_Send@halo.c:51');
  expect(briefPath('')).toBe('');
});

test('what differs by next to nothing is the same', () => {
  expect([1, 1.00005, 0.99995].map((r) => format.against(r * 7, 7))).toEqual(['the same', 'the same', 'the same']);
  expect(format.against(7.7, 7)).toMatch(/^\+10\s%$/);
  expect(format.against(3.5, 7)).toMatch(/^−50\s%$/);
  expect(format.against(28, 7)).toBe('× 4');
  expect(format.against(1, 0)).toBe('–');
});

test('what measuring has taken is said once for each process, and what is not known is not guessed', () => {
  const agents = [{ host: 'n1', cpu_seconds: 1.5, peak_bytes: 30 << 20 }];
  const said = (overhead: object | undefined, all = 100) => overheadOf(readManifest({ agents, overhead }), all).replace(/\u202f/g, ' ');
  const o = { agent_seconds: 1.5, collector_seconds: 0.5, shared: false, calls: 4e6, ns_per_call: 500 };
  expect(said(o)).toBe('Processor time: agents 1.5 s, collector 500 ms (2 % of the ranks’ time); 500 ns per MPI call; each agent at most 30 MiB of memory.');
  expect(said({ ...o, agent_seconds: 0, shared: true, ns_per_call: 125 }, 0)).toBe('Processor time: collector and agent in one process 500 ms; 125 ns per MPI call; each agent at most 30 MiB of memory.');
  expect(said({ ...o, collector_seconds: null, ns_per_call: null })).toBe('Processor time: agents 1.5 s, collector an unknown amount; each agent at most 30 MiB of memory.');
  const killed = readManifest({ agents: [{ ...agents[0], restarts: 1 }], overhead: o, losses: { collector_restarts: 1 } });
  expect(overheadOf(killed, 0).replace(/\u202f/g, ' ')).toContain('agents at least 1.5 s, collector at least 500 ms;');
  const lost = readManifest({ agents, overhead: o, losses: { agents_unfinished: ['n2'] } });
  expect(overheadOf(lost, 0).replace(/\u202f/g, ' ')).toContain('agents at least 1.5 s, collector 500 ms;');
  expect(said(undefined)).toBe('1 agent used 1.5 s of processor time (1.5 % of the ranks’ time); each agent at most 30 MiB of memory.');
  expect(overheadOf(readManifest({}), 1)).toBe('');
});
