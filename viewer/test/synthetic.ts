// A run that never was: every number in it follows from where it stands, so that tests know what a view must draw.
// Ranks compute in iterations; each one has a burst of every cluster, then the rank waits in MPI. Rank r spends
// 1 + slow(r) of the usual time in cluster 2; every 50th burst is noise.
import { efficiencyOf } from './efficiency';
import { packBytes } from './pack';
import type { PairsData } from './pairs';
import type { ProfileData } from './profile';
import { waitsOf } from './waits';

export interface Shape {
  readonly ranks: number;
  readonly iterations: number;
  readonly clusters: number; // at least 2
  readonly kinds?: boolean; // the last one is a variant of the first, and each is described as a kind
  readonly bins?: number;
  readonly detailRanks?: number; // from rank 0: of these calls and messages are kept
  readonly manifest?: Record<string, unknown>; // fields to put in place of the usual
  readonly efficiency?: Record<string, unknown> | null; // fields of the run in efficiency.json; null: there is no such file
  readonly waits?: Record<string, unknown>; // calls wait for the last of detailRanks, each iteration of the critical path is on the next rank; fields to put in place of those of waits.json
  readonly legs?: number; // iterations of which the critical path is in the page; without, all
  readonly pairs?: PairsData; // what ranks exchanged
  readonly profile?: ProfileData; // what phases and functions took
  readonly program?: Record<string, unknown>; // its structure
  readonly page?: Record<string, unknown>;
}

export interface Synthetic {
  readonly bytes: Buffer;
  readonly json: Record<string, unknown>;
  readonly points: number;
  readonly seconds: number[]; // by cluster, from index 1
  readonly bursts: number[]; // likewise
  readonly iterationNS: number;
  readonly slowRank: number;
  readonly spent: number[][]; // computing seconds by rank and cluster, noise at index 0
}

// The first colours of trace/palette.
export const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#56b4e9', '#cc79a7', '#660088', '#aa00ff'];
export const NOISE_EVERY = 50;
export const [LATE_SENDER, N_TO_N] = [1, 5];

// randoms is mulberry32: the same run every time.
function randoms(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const usualNS = (cluster: number) => 2e6 / cluster; // 2 ms, 1 ms, 0.67 ms, …

export function synthetic(shape: Shape): Synthetic {
  const { ranks, iterations, clusters } = shape;
  const bins = shape.bins ?? 200;
  const slowRank = Math.min(5, ranks - 1);
  const random = randoms(1);
  const n = ranks * iterations * clusters;
  const waitNS = 2e5;
  const iterationNS = Array.from({ length: clusters }, (_, i) => usualNS(i + 1) * 1.4 + waitNS).reduce((a, b) => a + b);
  const endNS = iterationNS * iterations;
  const codes = [0, 1, 2, ...Array.from({ length: clusters }, (_, i) => 6 + i)];

  const c = {
    'points.thread': new Int32Array(n),
    'points.start_ns': new Float64Array(n),
    'points.duration': new Float64Array(n),
    'points.cluster': new Int32Array(n),
    'points.weight': new Float32Array(n).fill(1),
    'points.before': new Int32Array(n),
    'points.after': new Int32Array(n),
    'points.window': new Int32Array(n).fill(-1),
    'points.node': new Int32Array(n).fill(-1),
    'points.counter.0': new Float64Array(n),
    'points.counter.1': new Float64Array(n),
    'points.ratio.0': new Float64Array(n),
  };
  const seconds = new Array<number>(clusters + 1).fill(0);
  const bursts = new Array<number>(clusters + 1).fill(0);
  const profile = new Float64Array(bins * codes.length);
  const cells = new Float64Array(Math.min(ranks, 64) * bins * codes.length);
  const rows = Math.min(ranks, 64);
  const rowOf = (rank: number) => Math.floor((rank * rows) / ranks);
  const binNS = endNS / bins;
  const spend = (rank: number, from: number, to: number, code: number) => {
    for (let b = Math.floor(from / binNS); b < bins && b * binNS < to; b++) {
      const ns = Math.min(to, (b + 1) * binNS) - Math.max(from, b * binNS);
      profile[b * codes.length + code] = (profile[b * codes.length + code] ?? 0) + ns / 1e9;
      const cell = (rowOf(rank) * bins + b) * codes.length + code;
      cells[cell] = (cells[cell] ?? 0) + ns;
    }
  };

  const mpiSeconds = new Float64Array(ranks);
  const computing = new Float64Array(ranks);
  const heat = { group: [] as number[], cluster: [] as number[], bursts: [] as number[], seconds: [] as number[] };
  const detailRanks = shape.detailRanks ?? Math.min(4, ranks);
  const calls = { thread: [] as number[], enter: [] as number[], exit: [] as number[], function: [] as number[], path: [] as number[] };
  const messages = { from: [] as number[], to: [] as number[], sent: [] as number[], received: [] as number[], bytes: [] as number[], tag: [] as number[] };
  const waits = { call: [] as number[], kind: [] as number[], ns: [] as number[], for: [] as number[] };
  const spent: number[][] = [];
  const steps: number[][] = []; // computing seconds by rank and iteration
  let p = 0;
  for (let rank = 0; rank < ranks; rank++) {
    const mine = { seconds: new Array<number>(clusters + 1).fill(0), bursts: new Array<number>(clusters + 1).fill(0) };
    for (let it = 0; it < iterations; it++) {
      let now = it * iterationNS;
      for (let id = 1; id <= clusters; id++) {
        const slow = rank === slowRank && id === 2 ? 1.31 : 1;
        const ns = Math.round(usualNS(id) * slow * (0.95 + 0.1 * random()));
        const noise = p % NOISE_EVERY === NOISE_EVERY - 1;
        c['points.thread'][p] = rank;
        c['points.start_ns'][p] = now;
        c['points.duration'][p] = ns;
        c['points.cluster'][p] = noise ? -1 : id;
        c['points.before'][p] = id - 1;
        c['points.after'][p] = id % clusters;
        c['points.window'][p] = rank < detailRanks && it < 2 ? 0 : -1;
        c['points.node'][p] = noise ? 0 : id;
        const ipc = (0.5 + 0.25 * id) * (0.98 + 0.04 * random());
        c['points.counter.0'][p] = ns * 2 * ipc;
        c['points.counter.1'][p] = ns * 2;
        c['points.ratio.0'][p] = ipc;
        const as = noise ? 0 : id;
        seconds[as] = (seconds[as] ?? 0) + ns / 1e9;
        bursts[as] = (bursts[as] ?? 0) + 1;
        mine.seconds[as] = (mine.seconds[as] ?? 0) + ns / 1e9;
        mine.bursts[as] = (mine.bursts[as] ?? 0) + 1;
        spend(rank, now, now + ns, noise ? 2 : 2 + id);
        const begin = now + ns;
        now += usualNS(id) * 1.4 + waitNS;
        spend(rank, begin, now, 1);
        mpiSeconds[rank] = (mpiSeconds[rank] ?? 0) + (now - begin) / 1e9;
        computing[rank] = (computing[rank] ?? 0) + ns / 1e9;
        const step = (steps[rank] ??= []);
        step[it] = (step[it] ?? 0) + ns / 1e9;
        if (rank < detailRanks && it < 2) {
          if (shape.waits && rank < detailRanks - 1) {
            waits.call.push(calls.thread.length);
            waits.kind.push(id % 2 ? LATE_SENDER : N_TO_N);
            waits.ns.push(Math.floor((now - begin) / 2));
            waits.for.push(detailRanks - 1);
          }
          calls.thread.push(rank);
          calls.enter.push(begin);
          calls.exit.push(now);
          calls.function.push(id % 2);
          calls.path.push(id % clusters);
          messages.from.push(rank);
          messages.to.push((rank + 1) % detailRanks);
          messages.sent.push(begin);
          messages.received.push(now);
          messages.bytes.push(8192 * id);
          messages.tag.push(id);
        }
        p++;
      }
    }
    spent.push(mine.seconds);
    for (let id = 0; id <= clusters; id++) {
      if (!mine.bursts[id]) continue;
      heat.group.push(rank);
      heat.cluster.push(id === 0 ? -1 : id);
      heat.bursts.push(mine.bursts[id] ?? 0);
      heat.seconds.push(mine.seconds[id] ?? 0);
    }
  }

  const cell = new Uint16Array(rows * bins);
  const share = new Uint8Array(rows * bins);
  for (let i = 0; i < rows * bins; i++) {
    const of = cells.subarray(i * codes.length, (i + 1) * codes.length);
    const total = of.reduce((a, b) => a + b, 0);
    let best = 0;
    of.forEach((v, k) => {
      if (v > (of[best] ?? 0)) best = k;
    });
    cell[i] = total > 0 ? (codes[best] ?? 0) : 0;
    share[i] = total > 0 ? Math.round((255 * (of[best] ?? 0)) / total) : 0;
  }

  const legs = shape.waits ? (shape.legs ?? iterations) : 0;
  const path = { row: new Uint16Array(4 * bins), share: new Uint8Array(4 * bins) };
  for (let b = 0; b < bins; b++) {
    for (let row = 0, i = 4 * b; row < rows; row++) {
      let on = 0;
      for (let it = Math.floor((b * binNS) / iterationNS); it < iterations && it * iterationNS < (b + 1) * binNS; it++) {
        if (rowOf(it % ranks) === row) on += Math.min((b + 1) * binNS, (it + 1) * iterationNS) - Math.max(b * binNS, it * iterationNS);
      }
      if (on <= 0) continue;
      path.row[i] = row;
      path.share[i++] = Math.max(1, Math.round((255 * on) / binNS));
    }
  }
  const total = seconds.reduce((a, b) => a + b);
  const json = {
    format: 1,
    mode: 'report',
    manifest: { ...manifestOf(shape, { n, endNS, total, slowRank, iterationNS, detailRanks, calls: calls.thread.length }), ...shape.manifest },
    clusters: clustersOf(clusters, seconds, bursts, total, shape.kinds ?? false),
    efficiency: shape.efficiency === null ? null : efficiencyOf({ spent, steps, mpi: [...mpiSeconds], endSeconds: endNS / 1e9, iterationSeconds: iterationNS / 1e9 }, shape.efficiency),
    waits: shape.waits ? { ...waitsOf(ranks, endNS / 1e9), ...shape.waits } : null,
    pairs: shape.pairs?.json ?? null,
    profile: shape.profile?.json ?? null,
    program: shape.program ?? null,
    program_joined: shape.program !== undefined,
    problems: [],
    resolution: '',
    threads: ranks,
    hosts: ['n1', 'n2'],
    counters: [
      { name: 'PAPI_TOT_INS', unit: '' },
      { name: 'PAPI_TOT_CYC', unit: '' },
    ],
    dimensions: [
      { name: 'duration', unit: 'ns', scale: 'log', column: 'points.duration' },
      { name: 'start', unit: 'ns', scale: 'lin', column: 'points.start_ns' },
      { name: 'PAPI_TOT_INS', unit: '', scale: 'log', column: 'points.counter.0' },
      { name: 'PAPI_TOT_CYC', unit: '', scale: 'log', column: 'points.counter.1' },
      { name: 'IPC', unit: '', scale: 'lin', column: 'points.ratio.0' },
    ],
    paths: Array.from({ length: clusters }, (_, i) => ({ name: `${i % 2 ? 'MPI_Wait' : 'MPI_Send'}@halo.c:${50 + i}`, function: i % 2 ? 'MPI_Wait' : 'MPI_Send' })),
    nodes: ['0', '1', '2', ...Array.from({ length: clusters - 2 }, (_, i) => `${i + 3} 2:2`)], // points.node is the cluster, 0 for noise
    functions: ['MPI_Send', 'MPI_Wait'],
    points: { count: n, of: n, how: 'every burst' },
    overview: {
      from_ns: 0,
      to_ns: endNS,
      bins,
      rows: Array.from({ length: rows }, (_, i) => [Math.ceil((i * ranks) / rows), Math.ceil(((i + 1) * ranks) / rows) - 1]),
      codes,
    },
    groups: Array.from({ length: ranks }, (_, i) => [i, i]),
    detail: { calls: calls.thread.length, waits: waits.call.length, messages: messages.from.length, critical: legs, left_out: '' },
    ...shape.page,
  };
  const columns = {
    'thread.world': new Int32Array(ranks),
    'thread.rank': Int32Array.from({ length: ranks }, (_, i) => i),
    'thread.thread': new Int32Array(ranks),
    'thread.host': Int32Array.from({ length: ranks }, (_, i) => (i < ranks / 2 ? 0 : 1)),
    'thread.class': new Int32Array(ranks),
    ...c,
    'overview.cell': cell,
    'overview.share': share,
    'overview.profile': Float32Array.from(profile),
    'rank.seconds_in_mpi': mpiSeconds,
    'rank.computing_seconds': computing,
    'rank.sent_bytes': new Float64Array(ranks).fill(8192 * iterations),
    'rank.received_bytes': new Float64Array(ranks).fill(8192 * iterations),
    'rank.bursts': new Float64Array(ranks).fill(iterations * clusters),
    'heat.group': Int32Array.from(heat.group),
    'heat.cluster': Int32Array.from(heat.cluster),
    'heat.bursts': Float64Array.from(heat.bursts),
    'heat.seconds': Float64Array.from(heat.seconds),
    'heat.counter.0': Float64Array.from(heat.seconds, (s) => s * 2e9),
    'heat.counter.1': Float64Array.from(heat.seconds, (s) => s * 2e9),
    'calls.thread': Int32Array.from(calls.thread),
    'calls.enter_ns': Float64Array.from(calls.enter),
    'calls.exit_ns': Float64Array.from(calls.exit),
    'calls.function': Int32Array.from(calls.function),
    'calls.path': Int32Array.from(calls.path),
    'messages.from': Int32Array.from(messages.from),
    'messages.to': Int32Array.from(messages.to),
    'messages.sent_ns': Float64Array.from(messages.sent),
    'messages.received_ns': Float64Array.from(messages.received),
    'messages.bytes': Float64Array.from(messages.bytes),
    'messages.tag': Int32Array.from(messages.tag),
    ...(shape.waits
      ? {
          'overview.wait': Uint8Array.from(cell, (code) => (code === 1 ? N_TO_N : 0)),
          'waits.call': Int32Array.from(waits.call),
          'waits.kind': Uint8Array.from(waits.kind),
          'waits.ns': Float64Array.from(waits.ns),
          'waits.for': Int32Array.from(waits.for),
          // A quarter of the time in MPI is a wait for late senders, a half one at N-to-N.
          'overview.waiting': Uint8Array.from({ length: bins * 12 }, (_, i) => [0, 64, 0, 0, 0, 127][i % 12] ?? 0),
          'overview.path.row': path.row,
          'overview.path.share': path.share,
          'critical.thread': Int32Array.from({ length: legs }, (_, it) => it % ranks),
          'critical.begin_ns': Float64Array.from({ length: legs }, (_, it) => it * iterationNS),
          'critical.ns': new Float64Array(legs).fill(iterationNS),
        }
      : {}),
    ...shape.pairs?.columns,
    ...shape.profile?.columns,
  };
  // What shape.page says of how much there is holds for the columns too.
  const { threads, points: said, overview } = json as { threads: number; points: { count: number }; overview: unknown };
  const rowsOf = (name: string) => (name.startsWith('thread.') ? threads : name.startsWith('points.') ? said.count : name.startsWith('overview.') && !overview ? 0 : Infinity);
  const cut = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column.slice(0, rowsOf(name))]));
  return { bytes: packBytes(json, cut), json, points: n, seconds, bursts, iterationNS, slowRank, spent };
}

interface Facts {
  readonly n: number;
  readonly endNS: number;
  readonly total: number;
  readonly slowRank: number;
  readonly iterationNS: number;
  readonly detailRanks: number;
  readonly calls: number;
}

function manifestOf({ ranks, iterations, clusters }: Shape, f: Facts): Record<string, unknown> {
  const slow = { world: 0, rank: f.slowRank, thread: 0 };
  return {
    format: 1,
    moriens: { version: 'v1', commit: '0' },
    run: 'synthetic',
    command: ['mpirun', '-n', `${ranks}`, './halo'],
    exit_status: 0,
    started: '2026-01-02T03:04:05Z',
    ended: '2026-01-02T03:05:05Z',
    notes: [],
    ranks,
    mpi: { library: 'Open MPI', version: '4.1.4' },
    mpi_calls: { MPI_Send: f.n / 2, MPI_Wait: f.n / 2 },
    bursts: f.n,
    dropped: 0,
    seconds: f.endNS / 1e9,
    score: 0.97,
    computing_seconds: f.total,
    worlds: [{ executable: '/home/user/halo', mpi: { library: 'Open MPI', version: '4.1.4' }, size: ranks, ranks_recorded: ranks, missing_ranks: [], seconds: f.endNS / 1e9 }],
    hosts: [
      { name: 'n1', cpus: 64, ranks: Math.ceil(ranks / 2) },
      { name: 'n2', cpus: 64, ranks: Math.floor(ranks / 2) },
    ],
    agents: [{ host: 'n1', restarts: 0, cpu_seconds: 0.12, peak_bytes: 30 << 20, shared: false, spool_peak_bytes: 1 << 20, spool_full_seconds: 0, spool_cut_bytes: 0 }],
    overhead: { agent_seconds: 0.12, collector_seconds: 0.03, shared: false, calls: f.n, ns_per_call: 0.15e9 / f.n },
    counters: [
      { name: 'PAPI_TOT_INS', unit: '' },
      { name: 'PAPI_TOT_CYC', unit: '' },
    ],
    losses: {},
    messages: { sends: f.n / 2, receives: f.n / 2, matched: f.n / 2, bytes: 4096 * f.n, late_sender_seconds: 0.5, unmatched: [] },
    filtered: { bursts: 0, share: 0, min_duration_ns: 0, longest_ns: 0, how: 'none', ranges: [] },
    kept: {
      how: '64 MiB',
      ranks: f.detailRanks,
      calls: f.calls,
      bursts: f.calls,
      sampled_bursts: f.n - f.calls,
      sampled_of: f.n - f.calls,
      phases: [
        { begin_ns: 0, end_ns: f.endNS, iterations, threads: ranks, period_bursts: clusters, median_ns: f.iterationNS, agreement: 0.99, autocorrelation: 0.9, inner: [], reason: 'all ranks repeat it' },
      ],
      classes: [{ size: ranks, threads: [[0, ranks - 1]], exemplar: { world: 0, rank: 0, thread: 0 }, reason: 'nearest to the centre', profile: 'cluster 1 50 %, cluster 2 25 %' }],
      grouped: 'by what they spend their time on',
      outliers: ranks > 1 ? [{ ...slow, class: 0, distance: 0.31, reason: 'spends 31 % more in cluster 2 than its class' }] : [],
      windows: [{ begin_ns: 0, end_ns: 2 * f.iterationNS, threads: Array.from({ length: f.detailRanks }, (_, i) => ({ world: 0, rank: i, thread: 0 })), phase: 0, why: 'representative', reason: '2 iterations from the middle', bytes: 12345 }],
      dropped: [],
      more_dropped: 0,
      more_anomalies: 0,
    },
    reduction: {
      budget_bytes: 64 << 20,
      bytes: 1 << 20,
      full_bytes: 200 << 20,
      full_measured: true,
      ratio: 200,
      error: {
        represented_share: 0.98,
        inside_share: 0.02,
        windows: { time: 0.004, exact_seconds: f.total, rebuilt_seconds: f.total * 1.004, worst_cluster: 2, worst_time: 0.012, counters: [{ name: 'PAPI_TOT_INS', error: 0.005 }], clusters: [], curves: [] },
        weighted: { time: 0.006, exact_seconds: f.total, rebuilt_seconds: f.total * 0.994, worst_cluster: 1, worst_time: 0.02, counters: [], clusters: [], curves: [] },
        sources: { thread: 0.9, class: 0.05, run: 0.03, sample: 0.02, nothing: 0 },
      },
      missing: [],
    },
    files: [
      { name: 'trace.prv', bytes: 800_000, content: 'what is kept, for Paraver' },
      { name: 'bursts.parquet', bytes: 120_000, content: 'kept bursts' },
      { name: 'clusters.json', bytes: 12_000, content: 'the clusters' },
    ],
  };
}

// Two steps of the refinement: at the first one, all clusters above the second are one node.
function kindOf(id: number, clusters: number): Record<string, unknown> {
  const known = { median_ns: usualNS(id), core: 0.01 * id, valley: 0, disturbed_bursts: 0, disturbed_seconds: 0, extra_seconds: 0 };
  if (id === clusters) return { ...known, kind: 1, variant_of: 1, predicted: null, why: 'in place of another by chance' };
  return { ...known, kind: id, variant_of: null, predicted: 0.97, why: 'its place foretells it: to 97 %' };
}

const CALLERS = Array.from({ length: 10 }, (_, i) => `caller_${i}`);

function clustersOf(clusters: number, seconds: number[], bursts: number[], total: number, kinds: boolean): Record<string, unknown> {
  const ids = Array.from({ length: clusters }, (_, i) => i + 1);
  const sum = (of: number[], from: number[]) => from.reduce((a, id) => a + (of[id] ?? 0), 0);
  // id, cluster, group, Eps, MinPts, bursts, seconds, score, frozen, parents
  const node = (id: number, members: number[], parents: number[], step = 1) => [
    id,
    step === 1 ? id : 0,
    id === 0 ? -1 : 0,
    0.1 * id,
    4,
    sum(bursts, members),
    sum(seconds, members),
    0.9 + 0.01 * id,
    id === 1,
    parents.map((p) => [p, sum(bursts, [p])]),
  ];
  const rest = ids.slice(1);
  return {
    format: 2,
    algorithm: 'dbscan',
    dimensions: [
      { name: 'PAPI_TOT_INS', scale: 'log', unit: '' },
      { name: 'IPC', scale: 'lin', unit: '' },
    ],
    by: 'none',
    how: 'refined automatically',
    eps: [0.05, 0.1],
    resolution: 0.01,
    min_pts: '4',
    normalisation: 'none',
    score: 0.97,
    noise_score: 0.5,
    total: {
      bursts: bursts.reduce((a, b) => a + b),
      seconds: total,
      clustered_bursts: sum(bursts, ids),
      clustered_share: sum(seconds, ids) / total,
      noise_bursts: bursts[0],
      noise_share: (seconds[0] ?? 0) / total,
      filtered_bursts: 0,
      filtered_share: 0,
      missing_bursts: 0,
      missing_share: 0,
    },
    call_paths: ids.flatMap((id) => [
      { name: `MPI_Send@halo.c:${49 + id}`, function: 'MPI_Send', frames: [{ module: 'halo', build_id: '', offset: '10f2', function: 'exchange', file: 'halo.c', line: 49 + id, inlined: [{ function: 'main', file: 'main.c', line: 7 }, { function: 'step', file: 'step.h', line: 12 }] }] },
      { name: `MPI_Wait@halo.c:${50 + id}`, function: 'MPI_Wait', frames: [] },
    ]).concat(CALLERS.map((name) => ({ name: `MPI_Send@halo.c:51<${name}`, function: 'MPI_Send', frames: ['exchange', name, 'main'].map((f, i) => ({ module: 'halo', build_id: '', offset: `10f${i}`, function: f, file: `${f}.c`, line: 51 + i, inlined: [] })) }))),
    groups: [{ before: -1, after: -1, bursts: bursts.reduce((a, b) => a + b), seconds: total, eps: 0.1, eps_from: 'refinement', knee: 0.08, min_pts: 4, clusters, noise_bursts: bursts[0], rare: false }],
    clusters: ids.map((id) => ({
      id,
      colour: COLOURS[(id - 1) % COLOURS.length],
      bursts: bursts[id],
      seconds: seconds[id],
      share: (seconds[id] ?? 0) / total,
      mean_ns: ((seconds[id] ?? 0) * 1e9) / (bursts[id] ?? 1),
      std_ns: usualNS(id) * 0.029,
      eps: 0.1,
      min_pts: 4,
      rare: false,
      score: 0.9 + 0.01 * id,
      ...(kinds ? kindOf(id, clusters) : {}),
      before: [{ path: 2 * (id - 1), bursts: bursts[id] }],
      after: [{ path: 2 * (id - 1) + 1, bursts: bursts[id] }],
      // The first cluster's calls come from more places than are listed.
      whole_before: id === 1 ? CALLERS.map((_, i) => ({ path: 2 * clusters + i, bursts: 11 - i })) : [],
      counters: [
        { name: 'PAPI_TOT_INS', mean: usualNS(id) * 2 * (0.5 + 0.25 * id), std: 1e4 },
        { name: 'PAPI_TOT_CYC', mean: usualNS(id) * 2, std: 1e4 },
      ],
    })),
    refinement: {
      rules: 'default',
      freeze: 0.95,
      chosen: [1],
      why: 'step 1 of 2 is the finest',
      levels: [
        { eps: [0.05], score: 0.9, nodes: [node(0, [0], []), ...ids.map((id) => node(id, [id], []))] },
        { eps: [0.1], score: 0.97, nodes: [node(0, [0], [0], 2), node(1, [1], [1], 2), node(2, rest, rest, 2)] },
      ],
      alternatives: [],
      merged: false,
    },
    phases: [],
  };
}
