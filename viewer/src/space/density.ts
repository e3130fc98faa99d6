// The density of a group of bursts along one dimension: its clusters, the basins that they are of, and what the judge
// joined or left apart.
import { NOISE, type Cluster, type Clusters } from '../data/clusters';
import type { Pack } from '../data/pack';
import type { Span } from '../draw/span';

type Basin = Clusters['refinement']['basins'][number];

export interface Part {
  readonly group: number; // index into groups
  readonly name: string;
  readonly clusters: readonly Cluster[];
  readonly basins: readonly Basin[];
}

// partsOf are the groups of several basins, which come with most time first.
export function partsOf(c: Clusters): Part[] {
  const byGroup = new Map<number, Basin[]>();
  for (const b of c.refinement.basins) byGroup.set(b.group, [...(byGroup.get(b.group) ?? []), b]);
  return [...byGroup]
    .sort(([a], [b]) => a - b)
    .flatMap(([group, basins]) => {
      const ids = new Set(basins.flatMap((b) => b.clusters));
      const clusters = c.clusters.filter((k) => ids.has(k.id));
      const g = c.groups[group];
      return clusters.length > 0 && g ? [{ group, name: g.before ? `${g.before} → ${g.after}` : 'all bursts', clusters, basins }] : [];
    });
}

export interface Arc {
  readonly from: number; // clusters
  readonly to: number;
  readonly joined: boolean;
  readonly text: string;
}

// arcsOf says which clusters of a part the judge joined, and which it left apart.
export function arcsOf(part: Part): Arc[] {
  const known = new Set(part.clusters.map((k) => k.id));
  const arcs = new Map<string, Arc>();
  for (const k of part.clusters) {
    if (!known.has(k.told_from)) continue;
    const joined = k.variant_of > 0;
    const key = joined ? `${k.id}>${k.told_from}` : [k.id, k.told_from].sort((a, b) => a - b).join('|');
    if (!arcs.has(key)) arcs.set(key, { from: k.id, to: k.told_from, joined, text: k.why });
  }
  return [...arcs.values()];
}

export interface Density {
  readonly span: Span; // of the axis: the natural logarithm where log is set
  readonly log: boolean;
  readonly rows: ReadonlyMap<number, Float64Array>; // bursts in each bin, by cluster; noise under its label
  readonly middle: ReadonlyMap<number, number>; // median of each cluster, on the axis
  readonly most: number; // in one bin of one row
}

// densityOf counts a part's bursts, each as often as what it stands for. Noise is of a part if it lies between the same
// calls.
export function densityOf(pack: Pack, clusters: Clusters, part: Part, column: string, log: boolean, bins: number): Density | null {
  const [values, weight, label, before, after] = [pack.column(column), pack.column('points.weight'), pack.column('points.cluster'), pack.column('points.before'), pack.column('points.after')];
  const mine = new Set(part.clusters.map((k) => k.id));
  const g = clusters.groups[part.group];
  const place = (n: number | undefined) => pack.json.paths[n ?? -1]?.name ?? '';
  const within = (i: number) => mine.has(label[i]!) || (label[i] === NOISE && (!g?.before || (place(before[i]) === g.before && place(after[i]) === g.after)));
  const found: { at: number; label: number; weight: number }[] = [];
  let [from, to] = [Infinity, -Infinity];
  for (let i = 0; i < label.length; i++) {
    const at = log ? Math.log(values[i]!) : values[i]!;
    if (!Number.isFinite(at) || !within(i)) continue;
    found.push({ at, label: label[i]!, weight: weight[i] ?? 1 });
    [from, to] = [Math.min(from, at), Math.max(to, at)];
  }
  if (found.length === 0) return null;
  const room = 0.04 * (to - from) || 0.05;
  const span = { from: from - room, to: to + room };
  const rows = new Map<number, Float64Array>();
  const of = new Map<number, { at: number; weight: number }[]>();
  let most = 0;
  for (const p of found) {
    const row = rows.get(p.label) ?? new Float64Array(bins);
    rows.set(p.label, row);
    const bin = Math.min(bins - 1, Math.floor(((p.at - span.from) / (span.to - span.from)) * bins));
    most = Math.max(most, (row[bin] = row[bin]! + p.weight));
    if (p.label > 0) of.set(p.label, [...(of.get(p.label) ?? []), p]);
  }
  return { span, log, rows, middle: new Map([...of].map(([id, list]) => [id, median(list)])), most };
}

function median(list: { at: number; weight: number }[]): number {
  list.sort((a, b) => a.at - b.at);
  let left = list.reduce((sum, p) => sum + p.weight, 0) / 2;
  for (const p of list) if ((left -= p.weight) <= 0) return p.at;
  return list.at(-1)?.at ?? NaN;
}

export interface Strip {
  readonly basin: Basin;
  readonly from: number; // on the axis
  readonly to: number;
  readonly row: number;
}

// stripsOf lays basins out in rows in which none covers another, the largest first; with one dimension each stratum is
// one row.
export function stripsOf(basins: readonly Basin[], dimension: number, log: boolean, most: number): { strips: Strip[]; rows: number; more: number } {
  const at = (v: number | undefined) => (log ? Math.log(v ?? NaN) : (v ?? NaN));
  const ends: { from: number; to: number }[][] = [];
  const strips: Strip[] = [];
  let more = 0;
  for (const basin of [...basins].sort((a, b) => a.stratum - b.stratum || b.bursts - a.bursts)) {
    const [from, to] = [at(basin.from[dimension]), at(basin.to[dimension])];
    if (!Number.isFinite(from) || !Number.isFinite(to)) continue;
    let row = ends.findIndex((taken) => taken.every((t) => to <= t.from + 1e-9 || from >= t.to - 1e-9));
    if (row < 0) row = ends.push([]) - 1;
    if (row >= most) {
      more++;
      ends.pop();
      continue;
    }
    ends[row]!.push({ from, to });
    strips.push({ basin, from, to, row });
  }
  return { strips, rows: ends.length, more };
}

export interface Name {
  readonly id: number; // of a cluster
  readonly x: number; // middle of its line of text, pixels
  readonly y: number;
}

// readable leaves out names that would lie over the name of a cluster with more time.
export function readable(names: readonly Name[]): Name[] {
  const [digit, gap, line] = [7, 4, 11]; // pixels
  const kept: Name[] = [];
  for (const n of [...names].sort((a, b) => a.id - b.id)) {
    const wide = (k: Name) => gap + (digit * (`${k.id}`.length + `${n.id}`.length)) / 2;
    if (kept.every((k) => Math.abs(k.x - n.x) >= wide(k) || Math.abs(k.y - n.y) >= line)) kept.push(n);
  }
  return kept;
}
