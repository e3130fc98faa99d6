// The program's structure as the page reads it: docs/format/page.md. Lines lie in each other; fields of other kinds of
// lines are empty.
import { count, flag, isObject, list, number, object, optional, pair, text, type Of } from './coerce';

const trips = object({ least: count, most: count, mean: number, entries: count, total: count, kind: text, expression: text, quartiles: list(number), linear: optional(object({ variable: text })), at_least: flag, at_most: flag, likely: flag, with_calls: flag });
const when = object({ kind: text, variable: text, period: count, offset: count, trip: number, first: number, last: number, stride: count, rank: number });
const peer = object({ way: text, kind: text, text });
const spread = object({ least: count, most: count, mean: number });
const cluster = object({ cluster: count, bursts: count, share: count });
const counter = object({ name: text, mean: number, n: count });

const fields = object({
  id: count,
  kind: text,
  function: text,
  file: text,
  line: count,
  recursive: flag,
  inlined: flag,
  by: text,
  note: text,
  lines: count,
  variable: text,
  threads: optional(list(count)),
  trips: optional(trips),
  stands_for: count,
  unrolled: count,
  explains: count,
  ranks: optional(list(count)),
  ranks_text: text,
  when: optional(when),
  when_text: text,
  happened: count,
  of: count,
  else: flag,
  count,
  peers: list(peer),
  root: optional(count),
  communicator: text,
  bytes: optional(spread),
  mpi_ns: count,
  late_ns: count,
  paths: list(count),
  share: count,
  compute_ns: count,
  mean_ns: number,
  std_ns: number,
  clusters: list(cluster),
  counters: list(counter),
  around: list(pair(count)),
});

export type Node = Of<typeof fields> & { readonly body: readonly Node[] };

// Deeper than any program: what is damaged may be so deep that reading it would not end well.
const DEEPEST = 500;

const node = (depth: number) => (v: unknown): Node => ({ ...fields(v), body: depth > 0 && isObject(v) ? list(node(depth - 1))(v['body']) : [] });

const read = object({ format: count, ranks: count, certain: object({ calls: number, time: number }), basis: text, why: list(text), body: list(node(DEEPEST)) });

export type Program = Of<typeof read>;

// The points that the published method clusters, and the classes that it takes for loops.
// A point is a list of figures; a path on those threads that reach it equally often.
const figures = list(number);

const point = (v: unknown) => {
  const [path = -1, ranks = 0, repetitions = 0, mean_ns = 0, delta = 0, loop = -1] = figures(v);
  return { path, ranks, repetitions, mean_ns, delta, loop };
};

const readLoops = object({
  eps: number,
  delta: number,
  loops: count,
  joined: flag,
  others: count,
  once: count,
  points: list(point),
});

export type Loops = Of<typeof readLoops>;

// What is read with another way to find loops.
const readings = object({ readings: optional(object({ order: optional(read), order_same: flag, thesis: optional(object({ program: read, plot: readLoops })) })) });

export type Readings = NonNullable<Of<typeof readings>['readings']>;

export const readProgram = (v: unknown): Program & { readonly readings: Readings | null } => ({ ...read(v), ...readings(v) });
