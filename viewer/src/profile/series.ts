// What the codes of a profile are, and their colours: docs/format/page.md lists them.
import type { Levels } from '../data/levels';
import { cluster } from '../format';
import { FILTERED, greyOf, MISSING, NOISE } from '../palette';
import type { Theme } from '../theme';
import type { Series } from './Stack';

const MPI = 1;
const OTHERS = 5;
const FIRST_CLUSTER = 6;
const none = new Map([
  [2, NOISE],
  [3, FILTERED],
  [4, MISSING],
]);

// seriesOf puts the time of each code into what it is at a step of the refinement: clusters by number, then what is in none, MPI at the top.
// 0, nothing, is left out.
export function seriesOf(codes: readonly number[], bins: number, seconds: (bin: number, code: number) => number, levels: Levels, theme: Theme): Series[] {
  const found = new Map<string, { order: number; series: Series }>();
  codes.forEach((code, k) => {
    if (code === 0) return;
    const { order, name, colour } = meaning(code, levels, theme);
    let to = found.get(name);
    if (!to) found.set(name, (to = { order, series: { name, colour, seconds: new Float64Array(bins) } }));
    for (let b = 0; b < bins; b++) to.series.seconds[b] = (to.series.seconds[b] ?? 0) + seconds(b, k);
  });
  return [...found.values()].sort((a, b) => a.order - b.order).map((f) => f.series);
}

function meaning(code: number, levels: Levels, theme: Theme): { order: number; name: string; colour: string } {
  if (code === MPI) return { order: 1e9, name: 'MPI', colour: greyOf('mpi', theme) };
  if (code === OTHERS) return { order: 1e8 - 1, name: 'other clusters', colour: greyOf('dropped', theme) };
  const id = none.get(code) ?? code - FIRST_CLUSTER + 1;
  const label = levels.fromCluster.get(id) ?? id;
  return { order: label < 1 ? 1e8 - label : label, name: levels.of.get(label)?.name ?? cluster(label), colour: levels.colour(label, theme) };
}
