// waits.json as the page reads it: who waited for whom, and why.
import { count, flag, list, number, object, optional, text, type Of } from './coerce';
import type { ThreadName } from './manifest';

const name = { world: count, rank: count, thread: count };
const threadName = object(name);

const readTable = object({
  basis: text,
  marked: flag,
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
    changes: count,
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

export const readWaits = object({ whole_run: optional(readTable), windows: optional(readTable), why: list(text) });

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
  readonly key: 'run' | 'windows';
  readonly title: string;
  readonly table: Table;
}

// scopesOf lists what waits are known of, the whole run first.
export function scopesOf(w: Waits | null): Scope[] {
  const scopes: Scope[] = [];
  if (w?.whole_run) scopes.push({ key: 'run', title: 'whole run', table: w.whole_run });
  if (w?.windows) scopes.push({ key: 'windows', title: 'kept windows', table: w.windows });
  return scopes;
}

// onlyCollectives says of a table that it has no waits in messages.
export const onlyCollectives = (t: Table) => t.basis === 'collectives';

// clusterOf is the id of what a cause, or a part of the path, computes in; null: it does not compute.
export const clusterOf = ({ what, cluster }: Pick<Cause, 'what' | 'cluster'>): number | null => (what !== 'computing' ? null : (cluster ?? -1));

export const same = (a: ThreadName, b: ThreadName) => a.world === b.world && a.rank === b.rank && a.thread === b.thread;

// pathBy joins the parts of the critical path by what they are: clusters, MPI, what was not recorded; largest first.
export function pathBy(t: Table): PathPart[] {
  const by = new Map<string, PathPart>();
  for (const p of t.critical_path.parts) {
    const key = `${p.what} ${clusterOf(p)}`;
    const known = by.get(key);
    by.set(key, known ? { ...known, seconds: known.seconds + p.seconds, share: known.share + p.share, call_path: '' } : p);
  }
  return [...by.values()].sort((a, b) => b.seconds - a.seconds);
}
