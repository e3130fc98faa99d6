// Each cluster as a kind: its basin, what joined it, and why.
import type { Clusters } from '../data/clusters';

export type Basin = Clusters['refinement']['basins'][number];
type Join = Clusters['refinement']['joins'][number];

export interface Kinship {
  readonly id: number;
  readonly kind: number;
  readonly share: number;
  readonly bursts: number;
  readonly basin: Basin | null; // null: it has its group to itself
  readonly join: Join | null; // that made it a variant
  readonly predicted: number;
  readonly why: string;
}

// kinshipOf lists the clusters, those of a kind together, the kind with most time first.
export function kinshipOf({ clusters, refinement }: Clusters): Kinship[] {
  const basin = new Map(refinement.basins.flatMap((b) => b.clusters.map((id) => [id, b] as const)));
  const join = new Map(refinement.joins.map((j) => [j.from, j]));
  const time = new Map<number, number>();
  for (const c of clusters) time.set(c.kind, (time.get(c.kind) ?? 0) + c.share);
  return clusters
    .map((c) => ({ id: c.id, kind: c.kind, share: c.share, bursts: c.bursts, basin: basin.get(c.id) ?? null, join: join.get(c.id) ?? null, predicted: c.predicted, why: c.why }))
    .sort((a, b) => (time.get(b.kind) ?? 0) - (time.get(a.kind) ?? 0) || a.kind - b.kind || Number(a.id !== a.kind) - Number(b.id !== b.kind) || a.id - b.id);
}
