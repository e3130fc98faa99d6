// waits.json as the page reads it: who waited for whom, and why.
import { count, flag, list, number, object, optional, text, type Of } from './coerce';
import type { Kinds } from './clusters';
import { sayStretch } from './efficiency';
import type { ThreadName } from './manifest';

const name = { world: count, rank: count, thread: count };
const threadName = object(name);

const readTable = object({
  basis: text,
  marked: flag,
  begin_seconds: number,
  end_seconds: number,
  ranks: count,
  locations: count,
  seconds: number,
  mpi_seconds: number,
  wait_seconds: number,
  residual_seconds: number,
  uncertain_seconds: number,
  unexplained_seconds: number,
  kinds: list(object({ kind: text, count: count, seconds: number, longest_seconds: number })),
  call_paths: list(object({ call_path: text, kind: text, count: count, seconds: number, residual_seconds: number })),
  causes: list(
    object({ ...name, what: text, cluster: optional(count), call_path: text, seconds: number, direct_seconds: number, share: number, waits: count, more_seconds: number }),
  ),
  causes_total: count,
  clusters: list(object({ cluster: count, caused_seconds: number, path_seconds: number, path_share: number, path_imbalance_seconds: number })),
  by_rank: list(object({ ...name, wait_seconds: number, caused_seconds: number, direct_seconds: number, path_seconds: number })),
  links: list(
    object({ waiting: threadName, for: threadName, count: count, seconds: number, computing_seconds: number, mpi_seconds: number, outside_seconds: number, handed_on_seconds: number }),
  ),
  links_total: count,
  critical_path: object({
    seconds: number,
    changes: number,
    parts: list(object({ what: text, cluster: optional(count), call_path: text, seconds: number, share: number })),
    parts_total: count,
    ranks: list(object({ ...name, seconds: number, share: number })),
  }),
  not_explained: list(object({ what: text, calls: count, seconds: number })),
  contradictions: count,
  collectives_incomplete: count,
  collectives_not_synchronising: count,
  messages_one_sided: count,
  eager: list(object({ same_node: flag, bytes: optional(count) })),
});

export const readWaits = object({ main: optional(readTable), whole_run: optional(readTable), windows: optional(readTable), why: list(text) });

export type Waits = Of<typeof readWaits>;
export type Table = Of<typeof readTable>;
export type Cause = Table['causes'][number];
export type PathPart = Table['critical_path']['parts'][number];

// The kinds of waits by number, as columns have them, with the words of files.
export const KINDS: readonly { readonly name: string; readonly later: string; readonly says: string }[] = [
  { name: '', later: '', says: '' },
  { name: 'late sender', later: 'began to send', says: 'a receive waits until the message is being sent' },
  { name: 'late sender, wrong order', later: 'began to send', says: 'likewise, while another message was there that the rank took later' },
  { name: 'late receiver', later: 'began to receive', says: 'a send waits until the message is being received' },
  { name: 'barrier', later: 'entered', says: 'waits for the last member of the barrier' },
  { name: 'N-to-N', later: 'entered', says: 'waits for the last member of a collective in which all wait for all' },
  { name: 'late broadcast', later: 'entered', says: 'waits for the root of a broadcast or scatter' },
  { name: 'early reduce', later: 'entered', says: 'the root of a reduction or gather waits for the last member' },
  { name: 'scan', later: 'entered', says: 'waits for the last of the lower ranks of a scan' },
  { name: 'window', later: 'entered', says: 'waits for the last member of a collective call of a window of one-sided communication' },
  { name: 'start', later: 'entered', says: 'in MPI_Init: waits for the last rank that enters it' },
  { name: 'end', later: 'entered', says: 'in MPI_Finalize: waits for the last rank that enters it' },
];

export const kindNumber = (word: string) => Math.max(0, KINDS.findIndex((k) => k.name === word));

// A Scope is what waits are known of.
export interface Scope {
  readonly key: 'main' | 'run' | 'windows'; // in the address
  readonly title: string;
  readonly within: string; // as a sentence begins
  readonly says: string;
  readonly table: Table;
}

// scopesOf lists what waits are known of, the stretch main first.
export function scopesOf(w: Waits | null): Scope[] {
  const scopes: Scope[] = [];
  if (w?.main) scopes.push({ key: 'main', within: 'Within main', ...sayStretch('main', w.main), table: w.main });
  if (w?.whole_run) scopes.push({ key: 'run', within: 'Over the whole run', ...sayStretch('run', w.whole_run), table: w.whole_run });
  if (w?.windows) scopes.push({ key: 'windows', within: 'In the kept windows', title: 'kept windows', says: 'what is kept in full detail', table: w.windows });
  return scopes;
}

// onlyCollectives says of a table that it has no waits in messages.
export const onlyCollectives = (t: Table) => t.basis === 'collectives';

// A What is what a cause, or a part of the path, is.
export type What = Pick<Cause, 'what' | 'cluster'>;

// clusterOf is the id of what it computes in; null: it does not compute.
export const clusterOf = ({ what, cluster }: What): number | null => (what !== 'computing' ? null : (cluster ?? -1));

// A Sum has, for a kind of computation, the sums of its clusters' rows under the cluster that stands for it. What is no
// computation is as it was.
export type Sum<R> = R & { readonly of: readonly Sum<R>[] }; // rows of its clusters; none where it is one of that very cluster

// sumsOf joins rows that are of one kind, and alike otherwise; largest first.
function sumsOf<R extends What & { readonly seconds: number }>(rows: readonly R[], kinds: Kinds, alike: (row: R) => unknown[], add: (sum: R, row: R) => R): Sum<R>[] {
  const by = new Map<string, R[]>();
  const named = (row: R): R => ({ ...row, cluster: row.cluster === null ? null : kinds.of(row.cluster) });
  for (const row of rows) {
    const key = JSON.stringify([row.what, clusterOf(named(row)), ...alike(row)]);
    const known = by.get(key);
    if (known) known.push(row);
    else by.set(key, [row]);
  }
  const sums = [...by.values()].flatMap(([first, ...others]): Sum<R>[] => {
    if (!first) return [];
    const sum = others.reduce(add, named(first));
    const alone = others.length === 0 && first.cluster === sum.cluster;
    return [{ ...sum, of: alone ? [] : [first, ...others].map((row) => ({ ...row, of: [] })) }];
  });
  return sums.sort((a, b) => b.seconds - a.seconds);
}

// causesOf sums causes by rank, kind and call path. A wait may be charged to several clusters of a kind: how many there
// are, and how much longer it took, is known of each of these alone.
export function causesOf(t: Table, kinds: Kinds): Sum<Cause>[] {
  return sumsOf(t.causes, kinds, (c) => [c.world, c.rank, c.thread, c.call_path], (sum, c) => ({
    ...sum, seconds: sum.seconds + c.seconds, direct_seconds: sum.direct_seconds + c.direct_seconds, share: sum.share + c.share, waits: NaN, more_seconds: NaN,
  }));
}

const addPart = (sum: PathPart, p: PathPart): PathPart => ({ ...sum, seconds: sum.seconds + p.seconds, share: sum.share + p.share });

// partsOfPath sums parts of the critical path by kind and call path.
export const partsOfPath = (t: Table, kinds: Kinds) => sumsOf(t.critical_path.parts, kinds, (p) => [p.call_path], addPart);

export const same = (a: ThreadName, b: ThreadName) => a.world === b.world && a.rank === b.rank && a.thread === b.thread;

// pathBy sums the parts of the critical path by what they are: kinds of computation, MPI, what was not recorded; last
// what of it is in parts that the file does not list.
export function pathBy(t: Table, kinds: Kinds): Sum<PathPart>[] {
  const { parts, seconds, parts_total: total } = t.critical_path;
  const byCluster = new Map<string, PathPart>();
  for (const p of parts) {
    const key = `${p.what} ${clusterOf(p)}`;
    const known = byCluster.get(key);
    byCluster.set(key, known ? addPart(known, p) : { ...p, call_path: '' });
  }
  const sums = sumsOf([...byCluster.values()].sort((a, b) => b.seconds - a.seconds), kinds, () => [], addPart);
  const rest = seconds - sums.reduce((sum, p) => sum + p.seconds, 0);
  if (total > parts.length && rest > 0) sums.push({ what: OTHERS, cluster: null, call_path: '', seconds: rest, share: rest / seconds, of: [] });
  return sums;
}

// OTHERS is what the parts of a path are together that are not listed.
export const OTHERS = 'others';
