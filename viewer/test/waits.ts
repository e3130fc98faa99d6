// waits.json of the run that never was.
const rank = (n: number) => ({ world: 0, rank: n, thread: 0 });

// tableOf has waits of a tenth of the time of all ranks.
export function tableOf(ranks: number, seconds: number): Record<string, unknown> {
  const waiting = 0.1 * ranks * seconds;
  const part = (what: string, cluster: number | null, share: number) => ({ what, cluster, call_path: `${what} ${cluster ?? ''}@halo.c:1`, seconds: share * seconds, share });
  const cause = (n: number, what: string, cluster: number | null, share: number, direct: number, waits: number) => ({
    ...rank(n), what, cluster, call_path: 'MPI_Wait@halo.c:51', seconds: share * waiting, direct_seconds: direct * waiting, share, waits, more_seconds: waits > 0 ? 0.0005 : null,
  });
  return {
    basis: 'full',
    ranks,
    locations: ranks,
    begin_seconds: 0,
    end_seconds: seconds,
    seconds,
    mpi_seconds: 1.25 * waiting,
    wait_seconds: waiting,
    residual_seconds: 0.25 * waiting,
    uncertain_seconds: 0,
    unexplained_seconds: 0,
    kinds: [
      { kind: 'N-to-N', count: 60, seconds: 0.75 * waiting, longest_seconds: 0.002 },
      { kind: 'late sender', count: 20, seconds: 0.25 * waiting, longest_seconds: 0.001 },
    ],
    call_paths: [
      { call_path: 'MPI_Wait@halo.c:51', kind: 'N-to-N', count: 60, seconds: 0.75 * waiting, residual_seconds: 0.2 * waiting },
      { call_path: 'MPI_Send@halo.c:50', kind: 'late sender', count: 20, seconds: 0.25 * waiting, residual_seconds: 0.05 * waiting },
    ],
    causes: [
      cause(5, 'computing', 2, 0.5, 0.4, 40),
      cause(3, 'computing', null, 0.3, 0.3, 30),
      cause(3, 'MPI', null, 0.15, 0, 0),
      cause(1, 'outside', null, 0.05, 0.05, 10),
    ],
    causes_total: 17,
    clusters: [
      { cluster: 2, kind: 2, locations: ranks, caused_seconds: 0.5 * waiting, path_seconds: 0.25 * seconds, path_share: 0.25, path_imbalance_seconds: 0.02 },
      { cluster: 1, kind: 1, locations: ranks, caused_seconds: 0, path_seconds: 0.6 * seconds, path_share: 0.6, path_imbalance_seconds: -0.01 },
    ],
    others: [
      { what: 'computing', caused_seconds: 0.3 * waiting, path_seconds: 0, path_share: 0 },
      { what: 'MPI', caused_seconds: 0.15 * waiting, path_seconds: 0.1 * seconds, path_share: 0.1 },
      { what: 'outside', caused_seconds: 0.05 * waiting, path_seconds: 0.05 * seconds, path_share: 0.05 },
    ],
    by_rank: [
      { ...rank(5), wait_seconds: 0, caused_seconds: 0.5 * waiting, direct_seconds: 0.4 * waiting, path_seconds: 0.9 * seconds },
      { ...rank(3), wait_seconds: waiting, caused_seconds: 0.45 * waiting, direct_seconds: 0.3 * waiting, path_seconds: 0.1 * seconds },
    ],
    links: [{ waiting: rank(3), for: rank(5), count: 20, seconds: 0.25 * waiting, computing_seconds: 0.2 * waiting, mpi_seconds: 0.01 * waiting, outside_seconds: 0, handed_on_seconds: 0.04 * waiting }],
    links_total: 1,
    critical_path: {
      seconds,
      changes: 19,
      parts: [part('computing', 1, 0.5), part('computing', 2, 0.25), part('computing', 1, 0.1), part('MPI', null, 0.1), part('outside', null, 0.05)],
      parts_total: 7,
      rest_seconds: 0,
      ranks: [{ ...rank(5), seconds: 0.9 * seconds, share: 0.9 }],
    },
    not_explained: [],
    contradictions: 0,
    collectives_incomplete: 0,
    collectives_not_synchronising: 0,
    messages_one_sided: 0,
    eager: [{ same_node: true, bytes: 4096 }, { same_node: false, bytes: null }],
  };
}

export function waitsOf(ranks: number, seconds: number): Record<string, unknown> {
  return { format: 1, whole_run: tableOf(ranks, seconds), main: null, windows: null, why: [] };
}
