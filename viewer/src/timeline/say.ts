// What lies under the pointer or the cursor, in words.
import { burstRows, burstTitle } from '../draw/burst';
import { MISSING } from '../data/clusters';
import { LOST, MPI, NO_DATA, OTHERS } from '../data/codes';
import { pathName, threadName } from '../data/names';
import type { Pack } from '../data/pack';
import { cluster, ns, percent } from '../format';
import type { Tip } from '../parts/tooltip';
import type { What } from './what';

// clusterAt is the cluster that a click there selects, or null.
export function clusterAt(pack: Pack, what: What): number | null {
  if (what?.kind === 'burst') return pack.column('points.cluster')[what.row] ?? null;
  return what?.kind === 'cell' && what.cluster !== 0 ? what.cluster : null;
}

export function tipOf(pack: Pack, what: NonNullable<What>, thread: number): Omit<Tip, 'x' | 'y'> {
  switch (what.kind) {
    case 'burst': {
      const id = pack.column('points.cluster')[what.row] ?? MISSING;
      return { title: burstTitle(pack, what.row), cluster: id, rows: burstRows(pack, what.row) };
    }
    case 'call': {
      const value = (name: string) => pack.column(name)[what.row] ?? -1;
      const path = pathName(pack, value('calls.path'));
      return {
        title: `${pack.json.functions[value('calls.function')] ?? 'MPI'} · ${threadName(pack, thread)}`,
        rows: [['duration', ns(what.time.to - what.time.from)], ['start', ns(what.time.from)], ...(path ? [['at', path] as const] : [])],
      };
    }
    case 'mpi':
      return { title: `MPI · ${threadName(pack, thread)}`, rows: [['duration', ns(what.time.to - what.time.from)], ['start', ns(what.time.from)]] };
    case 'cell': {
      const id = what.cluster;
      return {
        title: `${cellName(what.code, id)} · ${threadName(pack, thread)}`,
        ...(id !== 0 ? { cluster: id } : {}),
        rows: [['of the cell', percent(what.share)], ['cell', `${ns(what.time.from)} to ${ns(what.time.to)}`], ...(what.coarse ? [['in detail', 'only kept windows, marked above'] as const] : [])],
      };
    }
  }
}

function cellName(code: number, id: number): string {
  if (code === MPI) return 'MPI';
  if (code === NO_DATA) return 'missing data';
  if (code === LOST) return 'lost: MPI calls dropped for lack of space';
  return code === OTHERS ? 'other clusters' : cluster(id);
}

export function sayWhat(pack: Pack, what: NonNullable<What>, thread: number): string {
  const { title, rows } = tipOf(pack, what, thread);
  return [title, ...(rows ?? []).map(([label, value]) => `${label} ${value}`)].join(', ');
}
