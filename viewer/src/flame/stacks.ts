// The time of ranks in a phase, divided into the phases in it, or into what it consists of.
import type { Pack } from '../data/pack';
import { isInner, type Tree } from './model';

export interface Series {
  readonly name: string;
  readonly frame: number; // of the tree of phases; -1 = several
  readonly ns: Float64Array; // by group, of all of its threads
  readonly total: number;
}

export const MOST_SERIES = 12;

// seriesOf divides a phase: by phases, each without those in it, or into what is in it directly, phases with all of
// theirs. All of them add up to the time of the phase. Beyond MOST_SERIES, those with the least time are one.
export function seriesOf(pack: Pack, t: Tree, scope: number, phases: boolean): Series[] {
  const groups = pack.json.profile?.groups.length ?? 0;
  const [group, frame, ns] = [pack.column('profile.bar.group'), pack.column('profile.bar.frame'), pack.column('profile.bar.ns')];
  // Which frame each frame counts for, -1 = outside of the scope.
  const to = new Int32Array(t.n).fill(-1);
  to[scope] = scope;
  for (let i = scope + 1; i < t.n; i++) {
    const up = t.parent[i]!;
    if (to[up]! < 0) continue;
    if (phases) to[i] = isInner(t.type[i]!) ? i : to[up]!;
    else to[i] = up === scope ? i : to[up]!;
  }
  const sums = new Map<number, Float64Array>();
  for (let k = 0; k < frame.length; k++) {
    const f = to[frame[k]!]!;
    if (f < 0) continue;
    let of = sums.get(f);
    if (!of) sums.set(f, (of = new Float64Array(groups)));
    of[group[k]!] = of[group[k]!]! + ns[k]!;
  }
  const total = (of: Float64Array) => of.reduce((a, b) => a + b, 0);
  const inOrder = [...sums].map(([f, of]) => ({ f, of, total: total(of) })).sort((a, b) => b.total - a.total || a.f - b.f);
  const shown = inOrder.length > MOST_SERIES ? inOrder.slice(0, MOST_SERIES - 1) : inOrder;
  const rest = inOrder.slice(shown.length);
  const series = shown.map(({ f, of, total: sum }): Series => ({ name: phases ? phaseName(t, f, scope) : t.label[f]!, frame: f, ns: of, total: sum }));
  if (rest.length > 0) {
    const of = new Float64Array(groups);
    for (const r of rest) r.of.forEach((v, g) => (of[g] = of[g]! + v));
    series.push({ name: `${rest.length} others`, frame: -1, ns: of, total: total(of) });
  }
  return series;
}

// phaseName is the path of a phase below a scope, which itself has what is in none of them.
function phaseName(t: Tree, frame: number, scope: number): string {
  const names: string[] = [];
  for (let i = frame; i !== scope; i = t.parent[i]!) names.unshift(t.label[i]!);
  if (names.length > 0) return names.join(' / ');
  if (!t.children[scope]!.some((i) => isInner(t.type[i]!))) return t.label[scope]!;
  return scope === 0 ? `${t.label[scope]!}, outside phases` : `${t.label[scope]!} itself`;
}

// A Column is groups of threads side by side: their mean, in each series.
export interface Column {
  readonly first: number; // groups
  readonly last: number;
  readonly threads: number;
}

// columnsOf divides groups into at most so many columns of equal numbers of groups.
export function columnsOf(groups: readonly (readonly [number, number])[], most: number): Column[] {
  const per = Math.max(1, Math.ceil(groups.length / Math.max(1, most)));
  const columns: Column[] = [];
  for (let g = 0; g < groups.length; g += per) {
    const last = Math.min(groups.length, g + per) - 1;
    columns.push({ first: g, last, threads: groups[last]![1] - groups[g]![0] + 1 });
  }
  return columns;
}

export function meanIn(s: Series, c: Column): number {
  let sum = 0;
  for (let g = c.first; g <= c.last; g++) sum += s.ns[g]!;
  return sum / c.threads;
}
