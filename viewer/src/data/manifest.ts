// manifest.json as the page reads it: docs/format/manifest.md says what each field means.
import { count, flag, list, named, number, object, optional, pair, text, type Of } from './coerce';

const threadName = { world: count, rank: count, thread: count };
const library = object({ library: text, version: text });

const fidelityOf = object({
  time: number,
  exact_seconds: number,
  rebuilt_seconds: number,
  worst_cluster: count,
  worst_time: number,
  counters: list(object({ name: text, error: number })),
  clusters: list(
    object({
      id: count,
      time: number,
      exact_seconds: number,
      rebuilt_seconds: number,
      counters: list(object({ name: text, error: number })),
      wasserstein: number,
      kolmogorov: number,
    }),
  ),
  curves: list(object({ phase: count, points: count, mean: number, worst: number, worst_at: count })),
});

const kept = object({
  how: text,
  ranks: count,
  calls: count,
  bursts: count,
  sampled_bursts: count,
  sampled_of: count,
  grouped: text,
  phases: list(
    object({
      begin_ns: count,
      end_ns: count,
      iterations: count,
      threads: count,
      period_bursts: count,
      median_ns: count,
      agreement: number,
      autocorrelation: number,
      inner: list(object({ depth: count, period_bursts: count, min_trips: count, max_trips: count })),
      reason: text,
    }),
  ),
  classes: list(
    object({ size: count, threads: list(pair(count)), exemplar: object(threadName), reason: text, profile: text }),
  ),
  outliers: list(object({ ...threadName, class: count, distance: number, reason: text, cause: text, cluster: count })),
  windows: list(
    object({
      begin_ns: count,
      end_ns: count,
      threads: list(object(threadName)),
      phase: count,
      why: text,
      reason: text,
      bytes: count,
    }),
  ),
  dropped: list(object({ why: text, threads: count, bytes: count, reason: text })),
  more_dropped: count,
  more_anomalies: count,
});

const losses = object({
  records_dropped: count,
  calls_abandoned: count,
  batches_resent: count,
  batches_duplicate: count,
  messages_refused: count,
  collector_restarts: count,
  journal_bytes_cut: count,
  ranks_died: list(object({ world: count, rank: count, how: text, cut_off: flag })),
  ranks_missing: count,
  ranks_unrecorded: count,
  threads_unrecorded: count,
  calls_unrecorded: count,
  call_paths_lost: count,
  communicators_lost: count,
  marks_nameless: count,
  marks_inside_calls: count,
  phase_ends_unmatched: count,
  phases_unfinished: count,
  counters_unavailable: list(text),
  lines_skipped: count,
  windows_evicted: count,
  spool_evicted_bytes: count,
  transfers_lost: count,
});

export const readManifest = object({
  format: count,
  moriens: object({ version: text, commit: text }),
  run: text,
  trace: text,
  command: list(text),
  exit_status: count,
  started: text,
  ended: text,
  ended_by: text,
  incomplete: list(text),
  empty: text,
  notes: list(text),
  ranks: count,
  mpi: library,
  mpi_calls: named(count),
  bursts: count,
  dropped: count,
  seconds: number,
  score: number,
  computing_seconds: number,
  stage_seconds: named(number),
  worlds: list(
    object({
      executable: text,
      mpi: library,
      size: count,
      ranks_recorded: count,
      missing_ranks: list(count),
      seconds: number,
    }),
  ),
  hosts: list(object({ name: text, cpus: count, ranks: count })),
  agents: list(
    object({
      host: text,
      restarts: count,
      cpu_seconds: number,
      peak_bytes: count,
      shared: flag,
      spool_peak_bytes: count,
      spool_full_seconds: number,
      spool_cut_bytes: count,
    }),
  ),
  clocks: list(object({ host: text, source: text, clock: count, how: text, uncertainty_ns: number, drift_ppm: number })),
  counters: list(object({ name: text, unit: text })),
  phases: list(
    object({
      name: text,
      count: count,
      threads: count,
      seconds: number,
      own_seconds: number,
      computing_seconds: number,
      unfinished: count,
    }),
  ),
  events: list(object({ name: text, count: count, min: number, max: number, mean: number })),
  paused: object({ calls: count, pauses: count, seconds: number }),
  losses,
  messages: object({
    sends: count,
    receives: count,
    matched: count,
    bytes: count,
    late_sender_seconds: number,
    unmatched: list(object({ why: text, sends: count, receives: count })),
  }),
  filtered: object({
    bursts: count,
    share: number,
    min_duration_ns: count,
    longest_ns: count,
    how: text,
    ranges: list(text),
  }),
  kept,
  reduction: object({
    budget_bytes: number,
    bytes: count,
    full_bytes: count,
    full_measured: flag,
    ratio: number,
    error: optional(
      object({
        represented_share: number,
        inside_share: number,
        windows: fidelityOf,
        weighted: fidelityOf,
        sources: object({ thread: number, class: number, run: number, sample: number, nothing: number }),
      }),
    ),
    missing: list(text),
  }),
  cells: optional(
    object({
      ranks_in_full: count,
      ranks_in_sum: count,
      ranks_silent: count,
      side: number,
      floor: number,
      bound: flag,
      exact: flag,
      units_in_question: count,
      bursts_in_question: count,
    }),
  ),
  files: list(object({ name: text, bytes: count, content: text })),
});

export type Manifest = Of<typeof readManifest>;
export type Kept = Of<typeof kept>;
export type ThreadName = { world: number; rank: number; thread: number };
