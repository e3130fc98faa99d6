// What lies under the pointer or the cursor, in words.
import { burstRows, burstTitle } from '../draw/burst';
import { MISSING } from '../data/clusters';
import { kindOf, LOST, MPI, NO_DATA, OTHERS } from '../data/codes';
import { pathName, threadName } from '../data/names';
import type { Pack } from '../data/pack';
import { KINDS } from '../data/waits';
import { cluster, ns, percent, plural } from '../format';
import { lineOfBurst, lineOfCall, modelOf, titleOf } from '../program/model';
import type { Tip } from '../parts/tooltip';
import { coarselyAt, next, type Critical } from './critical';
import { at } from './lanes';
import type { Waits } from './raster';
import type { What } from './what';

// clusterAt is the cluster that a click there selects, or null.
export function clusterAt(pack: Pack, what: What): number | null {
  if (what?.kind === 'burst') return pack.column('points.cluster')[what.row] ?? null;
  return what?.kind === 'cell' && what.cluster !== 0 ? what.cluster : null;
}

// lineUnder is the line of the program that a burst or a call belongs to, -1 = not known.
export function lineUnder(pack: Pack, what: What): number {
  return what?.kind === 'burst' ? lineOfBurst(pack, what.row) : what?.kind === 'call' ? lineOfCall(pack, what.row) : -1;
}

// Known is what more there is to say of a place than what is drawn there; null: it is not known, or not shown.
export interface Known {
  readonly waits: Waits | null;
  readonly critical: Critical | null;
}

type Words = Omit<Tip, 'x' | 'y'>;

// tipOf describes a place; null: there is nothing.
export function tipOf(pack: Pack, what: What, thread: number, time: number, known: Known): Words | null {
  const path = pathWords(pack, what, thread, time, known.critical);
  if (!what) return path ? { title: threadName(pack, thread), says: [path] } : null;
  const wait = waitOf(what, known.waits);
  const says = [wait >= 0 ? waitWords(pack, wait) : '', path].filter(Boolean);
  const words = placeOf(pack, what, thread);
  return { ...words, ...(wait < 0 ? {} : { rows: words.rows?.filter(([label]) => label !== 'at') ?? [] }), ...(says.length > 0 ? { says } : {}) };
}

function waitOf(what: What, waits: Waits | null): number {
  return what?.kind === 'call' ? (waits?.of[what.row] ?? -1) : -1;
}

// waitsFor is the thread that a call waits for; -1: it waits for none.
export function waitsFor(pack: Pack, what: What, waits: Waits | null): number {
  return pack.column('waits.for')[waitOf(what, waits)] ?? -1;
}

function waitWords(pack: Pack, wait: number): string {
  const value = (name: string) => pack.column(name)[wait] ?? -1;
  const kind = KINDS[value('waits.kind')];
  const whom = threadName(pack, value('waits.for'));
  const path = pathName(pack, pack.column('calls.path')[value('waits.call')] ?? -1);
  return `Waits ${ns(value('waits.ns'))} for ${whom} (${[kind?.name, path].filter(Boolean).join(', ')}): ${whom} ${kind?.later ?? 'entered'} ${ns(value('waits.ns'))} later.`;
}

function pathWords(pack: Pack, what: What, thread: number, time: number, path: Critical | null): string {
  const k = path ? at(path.lanes, thread, time) : -1;
  const leg = path?.lanes.item[k] ?? -1;
  if (!path) return '';
  if (leg < 0) {
    const part = path.coarse && coarselyAt(path.coarse, thread, time);
    if (!part) return '';
    const whose = part.threads > 1 ? `the ${plural(part.threads, 'thread')} of this row have` : `${threadName(pack, thread)} has`;
    return `Critical path, coarsely: ${whose} ${percent(part.share)} of it from ${ns(part.time.from)} to ${ns(part.time.to)}.`;
  }
  const to = next(path, leg);
  const where = what?.kind === 'burst' ? ` in ${cluster(pack.column('points.cluster')[what.row] ?? MISSING)}, for ${ns(what.time.to - what.time.from)}` : what?.kind === 'call' || what?.kind === 'mpi' ? ' in MPI' : '';
  const [begin, end] = [path.begin[leg]!, path.end[leg]!];
  return `On the critical path${where}: ${threadName(pack, thread)} has it for ${ns(end - begin)}, from ${ns(begin)}${to >= 0 && to !== thread ? `, then ${threadName(pack, to)}` : ''}.`;
}

function placeOf(pack: Pack, what: NonNullable<What>, thread: number): Words {
  switch (what.kind) {
    case 'burst': {
      const id = pack.column('points.cluster')[what.row] ?? MISSING;
      return { title: burstTitle(pack, what.row), cluster: id, rows: burstRows(pack, what.row) };
    }
    case 'call': {
      const value = (name: string) => pack.column(name)[what.row] ?? -1;
      const path = pathName(pack, value('calls.path'));
      const program = modelOf(pack);
      const line = program?.lines[lineOfCall(pack, what.row)];
      return {
        title: `${pack.json.functions[value('calls.function')] ?? 'MPI'} · ${threadName(pack, thread)}`,
        rows: [['duration', ns(what.time.to - what.time.from)], ['start', ns(what.time.from)], ...(path ? [['at', path] as const] : []), ...(program && line ? [['in the program', titleOf(program, line)] as const] : [])],
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
  if (kindOf(code)) return `MPI, waiting: ${KINDS[kindOf(code)]?.name ?? ''}`;
  if (code === NO_DATA) return 'missing data';
  if (code === LOST) return 'lost: MPI calls dropped for lack of space';
  return code === OTHERS ? 'other clusters' : cluster(id);
}

export function sayWhat(words: Words | null): string {
  if (!words) return '';
  const { title, rows, says } = words;
  const figures = (rows ?? []).map(([label, value]) => `${label} ${value}`);
  if (!says) return [title, ...figures].join(', ');
  return [`${title ?? ''}:`, ...says, figures.join(', ')].filter(Boolean).join(' ');
}
