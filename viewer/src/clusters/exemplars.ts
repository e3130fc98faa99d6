// Which kept bursts show best what a cluster is: those nearest to its middle, and its ends.
import type { Pack } from '../data/pack';

export interface Exemplar {
  readonly row: number; // of points
  readonly what: 'typical' | 'shortest' | 'longest';
}

const TYPICAL = 3;

// exemplars chooses by the dimensions of the clustering, each from the cluster's median in units of its spread. Of
// bursts within the spread those of windows go first: what was round them is kept too.
export function exemplars(pack: Pack, rows: readonly number[]): Exemplar[] {
  const duration = pack.column('points.duration');
  const windows = pack.column('points.window');
  const distance = distances(pack, rows);
  const away = (i: number) => distance.get(i) ?? 0;
  const order = [...rows].sort((a, b) => away(a) - away(b) || a - b);
  const near = order.filter((i) => away(i) <= 1 && (windows[i] ?? -1) >= 0);
  const typical = (near.length >= TYPICAL ? near : order).slice(0, TYPICAL);
  const chosen: Exemplar[] = typical.map((row) => ({ row, what: 'typical' }));
  let [short, long] = [rows[0] ?? -1, rows[0] ?? -1];
  for (const i of rows) {
    if ((duration[i] ?? 0) < (duration[short] ?? 0)) short = i;
    if ((duration[i] ?? 0) > (duration[long] ?? 0)) long = i;
  }
  if (short >= 0 && !typical.includes(short)) chosen.push({ row: short, what: 'shortest' });
  if (long >= 0 && long !== short && !typical.includes(long)) chosen.push({ row: long, what: 'longest' });
  return chosen;
}

// distances are the largest over the dimensions.
function distances(pack: Pack, rows: readonly number[]): Map<number, number> {
  const most = new Map<number, number>(rows.map((i) => [i, 0]));
  const weights = pack.column('points.weight');
  const weight = (i: number) => weights[i] ?? 1;
  for (const { column, scale } of axes(pack)) {
    const values = pack.column(column);
    const at = (i: number) => (scale === 'log' ? Math.log(values[i] ?? NaN) : (values[i] ?? NaN));
    const known = rows.filter((i) => Number.isFinite(at(i)));
    const middle = weightedMedian(known.map((i) => [at(i), weight(i)]));
    const spread = weightedMedian(known.map((i) => [Math.abs(at(i) - middle), weight(i)]));
    for (const i of rows) {
      const off = Math.abs(at(i) - middle);
      const d = !Number.isFinite(off) ? Infinity : spread > 0 ? off / spread : off > 0 ? Infinity : 0;
      most.set(i, Math.max(most.get(i) ?? 0, d));
    }
  }
  return most;
}

// weightedMedian is the least value at which half of the weight is reached.
export function weightedMedian(values: readonly (readonly [value: number, weight: number])[]): number {
  const sorted = [...values].sort((a, b) => a[0] - b[0]);
  let left = sorted.reduce((sum, v) => sum + v[1], 0) / 2;
  for (const [value, weight] of sorted) if ((left -= weight) <= 0) return value;
  return NaN;
}

// axes are the dimensions that the bursts were clustered by, as far as the page has them.
export function axes(pack: Pack): { name: string; unit: string; scale: string; column: string }[] {
  const by = pack.json.clusters?.dimensions ?? [];
  const found = by.flatMap((d) => pack.json.dimensions.filter((p) => p.name === d.name).map((p) => ({ ...p, scale: d.scale })));
  return found.length > 0 ? found : pack.json.dimensions.filter((d) => d.column === 'points.duration');
}
