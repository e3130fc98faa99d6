// clusters.json as the page reads it: docs/format/clusters.md says what each field means.
import { count, flag, list, number, object, text, type Of } from './coerce';

const scope = object({ function: text, file: text, line: count });
const frame = object({ module: text, build_id: text, offset: text, function: text, file: text, line: count, inlined: list(scope) });
const path = object({ name: text, function: text, frames: list(frame) });
const use = object({ path: number, bursts: count });

// Nodes and their parents are lists in the file.
const parent = (v: unknown) => {
  const [id, bursts] = row(v);
  return { id: count(id), bursts: count(bursts) };
};
const node = (v: unknown) => {
  const [id, cluster, group, eps, minPts, bursts, seconds, score, frozen, parents] = row(v);
  return {
    id: count(id),
    cluster: count(cluster),
    group: count(group),
    eps: number(eps),
    min_pts: count(minPts),
    bursts: count(bursts),
    seconds: count(seconds),
    score: number(score),
    frozen: flag(frozen),
    parents: list(parent)(parents),
  };
};
const row = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);

const read = object({
  format: count,
  algorithm: text,
  dimensions: list(object({ name: text, scale: text, unit: text })),
  by: text,
  how: text,
  eps: list(count),
  resolution: number,
  min_pts: text,
  normalisation: text,
  score: number,
  noise_score: number,
  total: object({
    bursts: count,
    seconds: count,
    clustered_bursts: count,
    clustered_share: count,
    noise_bursts: count,
    noise_share: count,
    filtered_bursts: count,
    filtered_share: count,
    missing_bursts: count,
    missing_share: count,
  }),
  call_paths: list(path),
  groups: list(
    object({
      before: number,
      after: number,
      bursts: count,
      seconds: count,
      eps: count,
      eps_from: text,
      knee: count,
      min_pts: count,
      clusters: count,
      noise_bursts: count,
      rare: flag,
    }),
  ),
  clusters: list(
    object({
      id: count,
      colour: text,
      bursts: count,
      seconds: count,
      share: count,
      mean_ns: number,
      std_ns: number,
      eps: number,
      min_pts: count,
      rare: flag,
      score: number,
      kind: count, // 0 in directories of older versions
      variant_of: number,
      median_ns: number,
      core: number,
      predicted: number,
      valley: number,
      told_by: text,
      told_from: number,
      why: text,
      disturbed_bursts: count,
      extra_seconds: number,
      before: list(use),
      after: list(use),
      whole_before: list(use),
      whole_after: list(use),
      counters: list(object({ name: text, mean: number, std: number })),
    }),
  ),
  refinement: object({
    rules: text,
    freeze: number,
    chosen: list(count),
    why: text,
    levels: list(
      object({
        eps: list(count),
        score: number,
        nodes: list(node),
      }),
    ),
    alternatives: list(list(count)),
    merged: flag,
    basins: list(object({ group: number, stratum: count, bursts: count, eps: count, valley: number, clusters: list(count), from: list(number), to: list(number) })),
    joins: list(object({ round: count, from: count, to: count, bursts: count, foretold: number, why: text })),
  }),
  phases: list(
    object({
      name: text,
      outside: flag,
      bursts: count,
      seconds: count,
      share: count,
      clusters: list(object({ id: count, bursts: count, seconds: count })),
    }),
  ),
});

type Raw = Of<typeof read>;

// A CallPath with how many of a cluster's bursts touch it.
export type CallPath = Of<typeof path> & { readonly bursts: number };
// Before and after are places, wholeBefore and wholeAfter the most frequent call paths there, empty where not known.
export type Cluster = Omit<Raw['clusters'][number], 'before' | 'after' | 'whole_before' | 'whole_after'> & Readonly<Record<'before' | 'after' | 'wholeBefore' | 'wholeAfter', CallPath[]>>;
export type Group = Omit<Raw['groups'][number], 'before' | 'after'> & { readonly before: string; readonly after: string }; // names of call paths, "" = any
export type Clusters = Omit<Raw, 'clusters' | 'groups' | 'call_paths'> & { readonly clusters: Cluster[]; readonly groups: Group[] };

// clustersOf are the clusters of kinds of computation, which the clusters name that stand for them: these come first.
export function clustersOf(clusters: readonly Pick<Cluster, 'id' | 'kind'>[], kinds: readonly number[]): number[] {
  const others = clusters.filter((c) => !kinds.includes(c.id) && kinds.includes(c.kind)).map((c) => c.id);
  return [...kinds, ...others];
}

export const NOISE = -1;
export const FILTERED = -2;
export const MISSING = -3;

// What a cluster's score says.
export const SCORE = 'share of the threads that do it where one does; 1: all do';

// byKinds says that clusters were found by kinds of computation: medians and cores are known then.
export function byKinds({ clusters }: Clusters): boolean {
  return clusters.some((c) => c.median_ns > 0);
}

// What is in no cluster, under the id that it has instead of a cluster's.
export interface Unclustered {
  readonly id: number;
  readonly bursts: number;
  readonly share: number; // of the computing time
  readonly seconds: number;
  readonly score: number; // NaN = not defined
}

export function unclustered({ total: t, noise_score }: Clusters): Unclustered[] {
  const of = (id: number, bursts: number, share: number, score: number) => ({ id, bursts, share, seconds: share * t.seconds, score });
  return [of(NOISE, t.noise_bursts, t.noise_share, noise_score), of(FILTERED, t.filtered_bursts, t.filtered_share, NaN), of(MISSING, t.missing_bursts, t.missing_share, NaN)];
}

// readClusters puts the call paths in the place of their numbers.
export function readClusters(value: unknown): Clusters {
  const { call_paths: paths, clusters, groups, ...rest } = read(value);
  const name = (n: number) => paths[n]?.name ?? '';
  const used = (uses: readonly Of<typeof use>[]): CallPath[] =>
    uses.flatMap(({ path: n, bursts }) => {
      const p = paths[n];
      return p ? [{ ...p, bursts }] : [];
    });
  return {
    ...rest,
    clusters: clusters.map(({ whole_before, whole_after, ...c }) => ({ ...c, before: used(c.before), after: used(c.after), wholeBefore: used(whole_before), wholeAfter: used(whole_after) })),
    groups: groups.map((g) => ({ ...g, before: name(g.before), after: name(g.after) })),
  };
}
