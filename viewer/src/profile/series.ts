// What the codes of a profile are, and their colours: docs/format/overview.md lists them.
import { clusterOf, LOST, MPI, NOTHING, OTHERS } from '../data/codes';
import type { Levels } from '../data/levels';
import { cluster } from '../format';
import { greyOf } from '../palette';
import type { Theme } from '../theme';
import type { Series } from './Stack';

// seriesOf puts the time of each code into what it is at a step of the refinement: clusters by number, then what is in
// none, MPI at the top; of the code for nothing there is no series.
export function seriesOf(codes: readonly number[], bins: number, seconds: (bin: number, code: number) => number, levels: Levels, theme: Theme): Series[] {
  const found = new Map<string, { order: number; series: Series }>();
  codes.forEach((code, k) => {
    if (code === NOTHING) return;
    const { order, name, colour, variant } = meaning(code, levels, theme);
    let to = found.get(name);
    if (!to) found.set(name, (to = { order, series: { name, colour, variant: variant ?? false, seconds: new Float64Array(bins) } }));
    for (let b = 0; b < bins; b++) to.series.seconds[b] = (to.series.seconds[b] ?? 0) + seconds(b, k);
  });
  return [...found.values()].sort((a, b) => a.order - b.order).map((f) => f.series);
}

function meaning(code: number, levels: Levels, theme: Theme): { order: number; name: string; colour: string; variant?: boolean } {
  if (code === MPI) return { order: 1e9, name: 'MPI', colour: greyOf('mpi', theme) };
  if (code === OTHERS) return { order: 1e8 - 1, name: 'other clusters', colour: greyOf('others', theme) };
  if (code === LOST) return { order: 1e8 - 2, name: 'lost MPI calls', colour: greyOf('lost', theme) };
  const id = clusterOf(code);
  const label = levels.fromCluster.get(id) ?? id;
  return { order: label < 1 ? 1e8 - label : label, name: levels.of.get(label)?.name ?? cluster(label), colour: levels.colour(label, theme), variant: levels.variant(label) };
}
