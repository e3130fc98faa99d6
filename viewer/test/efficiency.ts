// efficiency.json of the run that never was, computed from what its ranks spend. They begin and end together, so the
// whole run is main.

export interface Spent {
  readonly spent: readonly number[][]; // s, by rank and cluster, noise at index 0
  readonly steps: readonly number[][]; // s, by rank and iteration
  readonly mpi: readonly number[]; // s, by rank
  readonly endSeconds: number;
  readonly iterationSeconds: number;
}

const sum = (of: readonly number[]) => of.reduce((a, b) => a + b, 0);
const mean = (of: readonly number[]) => sum(of) / of.length;
const rank = (n: number) => ({ world: 0, rank: n, thread: 0 });

// factorsOf are those of the first half of the ranks on one node, the others on another one.
function factorsOf(computing: readonly number[], seconds: number): Record<string, unknown> {
  const most = Math.max(...computing);
  const half = Math.ceil(computing.length / 2);
  const node = Math.max(mean(computing.slice(0, half)), computing.length > half ? mean(computing.slice(half)) : 0);
  return {
    seconds,
    parallel_efficiency: mean(computing) / seconds,
    load_balance: mean(computing) / most,
    load_balance_in_nodes: node / most,
    load_balance_between_nodes: mean(computing) / node,
    communication_efficiency: most / seconds,
    serialisation_efficiency: null,
    transfer_efficiency: null,
    basis: null,
    mean_computing_seconds: mean(computing),
    most_computing_seconds: most,
    most_computing: rank(computing.indexOf(most)),
  };
}

function budgetOf(computing: readonly number[], mpi: number, seconds: number): Record<string, unknown> {
  const total = seconds * computing.length;
  return { total_seconds: total, computing_seconds: sum(computing), mpi_seconds: mpi, outside_seconds: 0, not_recorded_seconds: total - sum(computing) - mpi };
}

function groupOf(name: string, members: readonly number[], computing: readonly number[], seconds: number): Record<string, unknown> {
  const own = members.map((r) => computing[r] ?? NaN);
  return { name, locations: own.length, mean_computing_seconds: mean(own), of_most_computing: mean(own) / Math.max(...computing), mpi_share: 1 - mean(own) / seconds };
}

export function efficiencyOf({ spent, steps, mpi, endSeconds, iterationSeconds }: Spent, other: Record<string, unknown> = {}): Record<string, unknown> {
  const computing = spent.map(sum);
  const ranks = spent.map((_, r) => r);
  const half = Math.ceil(ranks.length / 2);
  const clusters = (spent[0] ?? []).slice(1).map((_, i) => {
    const own = spent.map((s) => s[i + 1] ?? 0);
    const most = Math.max(...own);
    return {
      id: i + 1, share: sum(own) / sum(computing), bursts: 1, seconds: sum(own), ranks: ranks.length,
      load_balance: mean(own) / most, lost_seconds: most - mean(own), most: rank(own.indexOf(most)), ipc: 0.5 + 0.25 * (i + 1), ipc_of_best: 1,
    };
  });
  const groups = {
    nodes: [groupOf('n1', ranks.slice(0, half), computing, endSeconds), groupOf('n2', ranks.slice(half), computing, endSeconds)],
    classes: [groupOf('like rank 0', ranks, computing, endSeconds)],
  };
  const stretch = { ...factorsOf(computing, endSeconds), budget: budgetOf(computing, sum(mpi), endSeconds), clusters, ...groups };
  const iterations = (steps[0] ?? []).map((_, k) => {
    const f = factorsOf(steps.map((s) => s[k] ?? 0), iterationSeconds);
    return { phase: 0, iteration: k, seconds: iterationSeconds, parallel_efficiency: f['parallel_efficiency'], load_balance: f['load_balance'], communication_efficiency: f['communication_efficiency'] };
  });
  const run = {
    ranks: ranks.length,
    locations: ranks.length,
    begin_seconds: 0,
    end_seconds: endSeconds,
    ...stretch,
    phases: [{ name: '', phase: 0, iterations: iterations.length, ...factorsOf(computing, endSeconds), budget: stretch.budget }],
    iterations,
    bound: false,
    stretches: [
      { within: 'run', begin_seconds: 0, end_seconds: 2 * endSeconds, ...stretch, ...factorsOf(computing, 2 * endSeconds), budget: budgetOf(computing, sum(mpi), 2 * endSeconds) },
      { within: 'loop', begin_seconds: 0, end_seconds: endSeconds, ...stretch },
    ],
    ...other,
  };
  return { format: 1, within: 'main', runs: [run] };
}
