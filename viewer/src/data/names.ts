// Names of things of a run for people: the same rule as in the terminal's text.
import type { ThreadName } from './manifest';
import type { Pack } from './pack';
import { count } from '../format';
import type { Range } from '../state/ranges';

// hasWorlds reports whether ranks must be named with their world.
function hasWorlds(pack: Pack): boolean {
  return (pack.json.manifest?.worlds.length ?? 0) > 1;
}

export function threadOf(pack: Pack, n: number): ThreadName {
  const at = (name: string) => pack.column(name)[n] ?? 0;
  return { world: at('thread.world'), rank: at('thread.rank'), thread: at('thread.thread') };
}

export function nameOf({ world, rank, thread }: ThreadName, worlds: boolean): string {
  return `${worlds ? `world ${world} ` : ''}rank ${rank}${thread ? ` thread ${thread}` : ''}`;
}

// threadName names a thread by its number in the order world, rank, thread.
export function threadName(pack: Pack, n: number): string {
  return nameOf(threadOf(pack, n), hasWorlds(pack));
}

// threadsName names the threads of some ranges: "rank 5", "ranks 0–3, 7", "12 threads".
export function threadsName(pack: Pack, ranges: readonly Range[]): string {
  const [first] = ranges;
  if (first && ranges.length === 1 && first[0] === first[1]) return threadName(pack, first[0]);
  const plain = !hasWorlds(pack) && pack.column('thread.thread').every((t) => t === 0);
  const many = ranges.reduce((sum, [a, b]) => sum + b - a + 1, 0);
  if (!plain || ranges.length > 4) return `${count(many)} ${plain ? 'ranks' : 'threads'}`;
  return ranksName(ranges.map(([a, b]) => [threadOf(pack, a).rank, threadOf(pack, b).rank]));
}

// ranksName names ranks by their numbers: "rank 5", "ranks 0–3, 7".
export function ranksName(ranges: readonly Range[]): string {
  const said = ranges.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(', ');
  return `${/^\d+$/.test(said) ? 'rank' : 'ranks'} ${said}`;
}

// shortPath leaves out of a call path's name what only distinguishes it from others of one place.
export function shortPath(name: string): string {
  return name.replace(/\(\+0x.*$/, '');
}

// briefPath leaves out the namespaces and classes of the place too, for narrow columns.
export function briefPath(name: string): string {
  return shortPath(name).replace(/@(?:[^@()]*::)([^:@()]+)$/, '@…::$1');
}

export function pathName(pack: Pack, n: number): string {
  return pack.json.paths[n]?.name ?? '';
}

// numberOf finds a thread's number by its name, -1 = there is none.
export function numberOf(pack: Pack, { world, rank, thread }: ThreadName): number {
  const worlds = pack.column('thread.world');
  const ranks = pack.column('thread.rank');
  const threads = pack.column('thread.thread');
  for (let i = 0; i < ranks.length; i++) {
    if (ranks[i] === rank && worlds[i] === world && threads[i] === thread) return i;
  }
  return -1;
}
