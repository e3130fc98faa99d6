// waits.json as the page reads it: who waited for whom, and why.
import { count, flag, list, number, object, optional, text, type Of } from './coerce';
import { NOISE } from './clusters';
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
    object({ ...name, what: text, cluster: optional(count), variants: list(count), call_path: text, seconds: number, direct_seconds: number, share: number, waits: count, more_seconds: number }),
  ),
  causes_total: count,
  clusters: list(object({ cluster: count, kind: count, locations: count, caused_seconds: number, path_seconds: number, path_share: number, path_imbalance_seconds: number })),
  others: list(object({ what: text, caused_seconds: number, path_seconds: number, path_share: number })),
  by_rank: list(object({ ...name, wait_seconds: number, caused_seconds: number, direct_seconds: number, path_seconds: number })),
  links: list(
    object({ waiting: threadName, for: threadName, count: count, seconds: number, computing_seconds: number, mpi_seconds: number, outside_seconds: number, handed_on_seconds: number }),
  ),
  links_total: count,
  critical_path: object({
    seconds: number,
    changes: number,
    parts: list(object({ what: text, cluster: optional(count), variants: list(count), call_path: text, seconds: number, share: number })),
    parts_total: count,
    rest_seconds: number,
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
export type Cost = Table['clusters'][number];

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
export type What = Pick<Cause, 'what' | 'cluster' | 'variants'>;

// clusterOf is the id of the kind that it computes in; null: it does not compute.
export const clusterOf = ({ what, cluster }: What): number | null => (what !== 'computing' ? null : (cluster ?? NOISE));

export const same = (a: ThreadName, b: ThreadName) => a.world === b.world && a.rank === b.rank && a.thread === b.thread;

// byKind has the figures of clusters under the cluster that stands for their kind of computation.
export function byKind(t: Table): Map<number, Cost[]> {
  const kinds = new Map<number, Cost[]>();
  for (const c of t.clusters) {
    const kind = c.kind || c.cluster;
    kinds.set(kind, [...(kinds.get(kind) ?? []), c]);
  }
  return kinds;
}

// membersOf are the clusters of a kind, the one that stands for it first.
export function membersOf(t: Table, kind: number): number[] {
  const ids = byKind(t).get(kind)?.map((c) => c.cluster) ?? [kind];
  return ids.sort((a, b) => Number(b === kind) - Number(a === kind) || a - b);
}

// A Slice is what the critical path has of a kind of computation, of bursts in no cluster, of MPI, or of what was not
// recorded.
export interface Slice extends What {
  readonly seconds: number;
  readonly share: number;
  readonly of: readonly Cost[]; // its clusters on the path, largest first; none where it is of one cluster
}

// pathBy divides the critical path, all of it, largest first.
export function pathBy(t: Table): Slice[] {
  const kinds = [...byKind(t)].map(([kind, clusters]): Slice => {
    const on = clusters.filter((c) => c.path_seconds > 0).sort((a, b) => b.path_seconds - a.path_seconds);
    const sum = (of: 'path_seconds' | 'path_share') => on.reduce((all, c) => all + c[of], 0);
    return { what: 'computing', cluster: kind, variants: [], seconds: sum('path_seconds'), share: sum('path_share'), of: clusters.length > 1 ? on : [] };
  });
  const others = t.others.map((o): Slice => ({ what: o.what, cluster: null, variants: [], seconds: o.path_seconds, share: o.path_share, of: [] }));
  return [...kinds, ...others].filter((p) => p.seconds > 0).sort((a, b) => b.seconds - a.seconds);
}
