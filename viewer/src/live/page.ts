// What the collector says of a run in progress, about once a second: docs/format/page.md and docs/format/health.md.
import { count, flag, isObject, list, number, object, optional, text, type Of } from '../data/coerce';

// What agents have reported of the bursts that are kept on their nodes.
const cells = object({
  surveyed: flag,
  age_seconds: count,
  units: count,
  bursts: count,
  burst_seconds: count,
  agents: count,
  silent_agents: count,
  lost_bursts: count,
  outside_bursts: count,
  error: text,
});

const factors = object({
  parallel_efficiency: number,
  load_balance: number,
  load_balance_in_nodes: number,
  load_balance_between_nodes: number,
  communication_efficiency: number,
  seconds: number,
  locations: count,
});

const health = object({
  run: text,
  stage: text,
  host: text,
  seconds: count,
  agents: list(object({ host: text, connected: flag, done: flag, away_seconds: count, ranks: count, batches_resent: count })),
  ranks: object({ recorded: count, running: count, ended: count, died: count, left: count }),
  mpi_calls: count,
  bursts: count,
  bursts_per_second: count,
  cells: optional(cells),
  efficiency: optional(object({ run: factors, minute: factors, bin_seconds: count, bins: list(count), why: text })),
  waiting: optional(object({ rank: count, world: count, call: text, callpath: text, seconds: count })),
  clusters: object({ count: count, bursts: count, explained_share: number }),
  losses: object({
    records_dropped: count,
    calls_abandoned: count,
    calls_unrecorded: count,
    batches_resent: count,
    batches_duplicate: count,
    messages_refused: count,
    ranks_died: count,
    ranks_unrecorded: count,
    records_unkept: count,
    spool_full_dropped: count,
    files_unreadable: count,
  }),
  memory: object({ heap_bytes: count, resident_bytes: count }),
  analysis: list(object({ name: text, seconds: count, ended: flag, given_up: flag })),
  journal: optional(object({ bytes: count, pending: count, sync_seconds: count, slowest_sync: count, error: text })),
});

const readPage = object({
  health,
  profile: optional(object({ from_ns: count, bin_ns: count, codes: list(count), seconds: list(list(count)) })),
  clusters: list(object({ id: count, colour: text, bursts: count, seconds: count, before: text, after: text })),
  points: list(object({ thread: count, start_ns: count, duration: count, cluster: count })),
  overhead: list(object({ what: text, value: number, unit: text, most: count, why: text })),
});

const readEnd = object({ directory: text, error: text, hint: text });

export type LivePage = Of<typeof readPage>;
export type Health = LivePage['health'];
export type Factors = Of<typeof factors>;
export type Cells = Of<typeof cells>;
export type End = Of<typeof readEnd>;

export const parsePage = (said: string): LivePage | null => parsed(said, readPage);
export const parseEnd = (said: string): End | null => parsed(said, readEnd);

function parsed<T>(said: string, read: (v: unknown) => T): T | null {
  try {
    const v: unknown = JSON.parse(said);
    return isObject(v) ? read(v) : null;
  } catch {
    return null; // a message that is no JSON changes nothing
  }
}
