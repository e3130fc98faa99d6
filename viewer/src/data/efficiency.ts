// efficiency.json as the page reads it: docs/efficiency.md says what each figure means. The page prints the ratios of
// the file; what a factor costs is the difference of two times of the file.
import { count, flag, list, number, object, optional, text, type Of } from './coerce';
import { plural, seconds as time } from '../format';

const threadName = object({ world: count, rank: count, thread: count });

const factors = {
  seconds: number,
  parallel_efficiency: number,
  load_balance: number,
  load_balance_in_nodes: number,
  load_balance_between_nodes: number,
  communication_efficiency: number,
  serialisation_efficiency: number,
  transfer_efficiency: number,
  mean_computing_seconds: number,
  most_computing_seconds: number,
  most_computing: optional(threadName),
};

const budget = object({ total_seconds: number, computing_seconds: number, mpi_seconds: number, outside_seconds: number, not_recorded_seconds: number });

const cluster = object({
  id: count,
  share: number,
  seconds: number,
  ranks: count,
  load_balance: number,
  lost_seconds: number,
  most: optional(threadName),
  ipc: number,
  ipc_of_best: number,
});

const group = object({ name: text, locations: count, mean_computing_seconds: number, of_most_computing: number, mpi_share: number });

const stretch = {
  begin_seconds: number,
  end_seconds: number,
  ...factors,
  budget,
  clusters: list(cluster),
  kinds: list(cluster),
  nodes: list(group),
  classes: list(group),
};

const readRun = object({
  ranks: count,
  locations: count,
  bound: flag,
  why: list(text),
  ...stretch,
  phases: list(object({ name: text, phase: number, iterations: count, ...factors, budget })),
  iterations: list(
    object({ phase: count, iteration: count, count, seconds: number, parallel_efficiency: number, load_balance: number, communication_efficiency: number, skewed: flag }),
  ),
  main_threads: optional(object(factors)),
  worlds: list(object({ world: count, ranks: count, locations: count, ...factors })),
  stretches: list(object({ within: text, ...stretch })),
});

const readFile = object({ within: text, runs: list(readRun) });

type Run = Of<typeof readRun>;
export type Factors = Pick<Run, keyof typeof factors>;
export type Budget = Of<typeof budget>;
export type ClusterLoss = Of<typeof cluster>;
export type NodeOrClass = Of<typeof group>;
export type Phase = Run['phases'][number];
export type Iteration = Run['iterations'][number];
export type Efficiency = Run & { readonly within: string };

// readEfficiency gives the run of the file; null: there is none.
export function readEfficiency(value: unknown): Efficiency | null {
  const { within, runs } = readFile(value);
  const [run] = runs;
  return run ? { ...run, within } : null;
}

// A Part is what the factors can be shown of: a stretch of the run's time, or a phase, which has no clusters, nodes and
// classes of its own.
export interface Part extends Factors {
  readonly key: string; // in the address
  readonly title: string;
  readonly says: string;
  readonly own: boolean; // main threads and worlds are of it too
  readonly budget: Budget;
  readonly clusters: readonly ClusterLoss[] | null;
  readonly kinds: readonly ClusterLoss[] | null; // of computation, under the cluster that stands for each; the clusters where they are not known
  readonly nodes: readonly NodeOrClass[];
  readonly classes: readonly NodeOrClass[];
}

const stretches: Readonly<Record<string, readonly [title: string, says: string]>> = {
  main: ['main', 'from the end of the last MPI_Init to the start of the first MPI_Finalize'],
  run: ['whole run', 'the whole run, with MPI_Init and MPI_Finalize'],
  loop: ['loop', 'all iterations, from the begin of the first to the end of the last'],
};

// sayStretch names a stretch of a run, and says what it is and when.
export function sayStretch(within: string, { begin_seconds: begin, end_seconds: end }: { begin_seconds: number; end_seconds: number }): { title: string; says: string } {
  const [title, says] = stretches[within] ?? [within, ''];
  const when = Number.isFinite(begin) && Number.isFinite(end) ? `${time(begin)} to ${time(end)}` : '';
  return { title, says: [says, when].filter(Boolean).join(': ') };
}

// partsOf lists the parts of a run, that in which the file describes it first.
export function partsOf(e: Efficiency): Part[] {
  const stretchOf = (s: Efficiency | Run['stretches'][number], own: boolean): Part => ({ ...s, ...sayStretch(s.within, s), key: s.within, own, kinds: s.kinds.length > 0 ? s.kinds : s.clusters });
  const phaseOf = (p: Phase): Part => ({
    ...p,
    key: phaseKey(p),
    title: phaseTitle(p),
    says: Number.isNaN(p.phase)
      ? `named by the program, ${plural(p.iterations, 'time')}; T is the longest time that a rank is in it`
      : `${plural(p.iterations, 'iteration')}, from the begin of the first to the end of the last`,
    own: false,
    clusters: null,
    kinds: null,
    nodes: [],
    classes: [],
  });
  return [stretchOf(e, true), ...e.stretches.map((s) => stretchOf(s, false)), ...e.phases.map(phaseOf)];
}

// phaseKey is the key of a phase's part.
export function phaseKey({ name, phase }: Pick<Phase, 'name' | 'phase'>): string {
  return Number.isNaN(phase) ? `name:${name}` : `iterations:${phase}`;
}

// phaseTitle names a phase as the program does, or one of iterations by the number that the summary gives it.
export function phaseTitle({ name, phase }: Pick<Phase, 'name' | 'phase'>): string {
  return Number.isNaN(phase) ? name : `phase ${phase}`;
}

// A Factor is one row of the tree: its ratio, and the stretch of the elapsed time that it costs, s; NaN = not known.
export interface Factor {
  readonly name: string;
  readonly says: string;
  readonly depth: number;
  readonly ratio: number;
  readonly from: number;
  readonly to: number;
  readonly why?: string; // there is no ratio
}

const UNKNOWN = 'not known in this version: it needs the times at which each rank waits for which other one';

// tree is the factors one under the other. The stretches of the innermost add up to that of parallel efficiency.
export function tree(f: Factors): Factor[] {
  const { seconds: t, mean_computing_seconds: mean, most_computing_seconds: most } = f;
  // The largest mean of a node: the file has it as a ratio alone, and the clock counts nanoseconds.
  const product = most * f.load_balance_in_nodes;
  const node = Math.abs(product - mean) < 1e-9 ? mean : product;
  return [
    { name: 'Parallel efficiency', says: 'mean computing time over elapsed time: load balance × communication', depth: 0, ratio: f.parallel_efficiency, from: mean, to: t },
    { name: 'Load balance', says: 'mean over largest computing time: ranks that compute less wait for the others', depth: 1, ratio: f.load_balance, from: mean, to: most },
    { name: 'in nodes', says: 'ranks of one node compute for different times', depth: 2, ratio: f.load_balance_in_nodes, from: node, to: most, why: 'not known: which ranks ran on which nodes is not in the data' },
    { name: 'between nodes', says: 'nodes compute for different times', depth: 2, ratio: f.load_balance_between_nodes, from: mean, to: node, why: 'not known: which ranks ran on which nodes is not in the data' },
    { name: 'Communication', says: 'largest computing time over elapsed time: even the rank that computes most is in MPI', depth: 1, ratio: f.communication_efficiency, from: most, to: t },
    { name: 'serialisation', says: 'ranks wait for each other in turn', depth: 2, ratio: f.serialisation_efficiency, from: NaN, to: NaN, why: UNKNOWN },
    { name: 'transfer', says: 'messages take time', depth: 2, ratio: f.transfer_efficiency, from: NaN, to: NaN, why: UNKNOWN },
  ];
}

// whyNot says why there is no figure of what is lost in a cluster, or of its IPC.
export function whyNot(e: Efficiency | null, part: Part | null, id: number, ipc = false): string {
  const threads = e?.locations ?? 0;
  if (id < 1) return 'not known of what is in no cluster';
  if (!part?.clusters || !part.kinds) return `not known within ${part?.title ?? 'this'}: a phase has no figures of clusters`;
  const known = (ipc ? part.clusters : part.kinds).find((c) => c.id === id);
  if (!known && part.clusters.some((c) => c.id === id)) return 'a variant: what its kind loses includes it';
  if (!known) return `it has no burst within ${part.title}`;
  if (ipc) return 'not known: its bursts have no PAPI_TOT_INS and PAPI_TOT_CYC';
  return known.ranks < threads ? `only ${plural(known.ranks, 'thread')} of ${plural(threads, 'thread')} compute it` : 'not defined';
}
