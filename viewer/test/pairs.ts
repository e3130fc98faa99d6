// The pairs of the run that never was: a halo on a torus of ranks, in which one rank is late for its right neighbour
// alone, on nodes of equally many ranks; with the dendrogram of single linkage, as app/pairing makes it.

export interface PairsShape {
  readonly ranks: number;
  readonly perNode: number;
  readonly reach?: number; // neighbours of a rank are this far away at most, both ways, in a ring
  readonly exact?: boolean;
  readonly groups?: number; // that the file reports, of equally many neighbouring ranks; 0 = none
  readonly json?: Record<string, unknown>; // fields to put in place of the usual
}

export interface PairsData {
  readonly json: Record<string, unknown>;
  readonly columns: Record<string, Int32Array | Float64Array>;
  readonly blocked: number; // s, of all pairs
}

// LATE is the rank that is late, for the next one.
export const LATE = 2;

const BLOCKED = 0.01; // s, of two neighbours
const BYTES = [128, 4096, 65536];

export function pairsOf({ ranks, perNode, reach = 1, exact = true, groups = 0, json = {} }: PairsShape): PairsData {
  const nodes = Array.from({ length: Math.ceil(ranks / perNode) }, (_, i) => `n${i + 1}`);
  const seen = new Map<number, { a: number; b: number; blocked: number; late: number }>();
  for (let r = 0; r < ranks; r++) {
    for (let d = 1; d <= reach; d++) {
      const [a, b] = [Math.min(r, (r + d) % ranks), Math.max(r, (r + d) % ranks)];
      if (a === b) continue;
      // Farther neighbours, and those on other nodes, take less and more; no two pairs are alike.
      const between = Math.floor(a / perNode) !== Math.floor(b / perNode);
      const late = a === LATE && b === LATE + 1 ? 0.4 : 0;
      seen.set(a * ranks + b, { a, b, blocked: (BLOCKED / d) * (between ? 1.5 : 1) * (1 + ((a * 7 + b * 13) % 101) / 500) + late, late: late || (BLOCKED / d) * 0.1 });
    }
  }
  const pairs = [...seen].sort(([x], [y]) => x - y).map(([, p]) => p);
  const blocked = pairs.reduce((sum, p) => sum + p.blocked, 0);
  const late = pairs.reduce((sum, p) => sum + p.late, 0);
  const { left, right, height, order } = linkage(ranks, pairs);
  const sizes = pairs.flatMap((p, pair) => BYTES.map((from, k) => ({ pair, from, messages: 100, bytes: 100 * from, blocked: (p.blocked * (k + 1)) / 6 })));
  const number = (of: (p: (typeof pairs)[number]) => number) => Float64Array.from(pairs, of);
  const perGroup = groups > 0 ? Math.ceil(ranks / groups) : 0;
  const internode = pairs.filter((p) => Math.floor(p.a / perNode) !== Math.floor(p.b / perNode)).length;
  const bytes = 100 * BYTES.reduce((a, b) => a + b);
  const size = (from: number, k: number) => ({ from_bytes: from, to_bytes: 2 * from - 1, messages: 100 * pairs.length, bytes: 100 * from * pairs.length, blocked_seconds: (blocked * (k + 1)) / 6 });
  const line = (same_node: boolean, latency: number, bandwidth: number) => ({ same_node, latency_seconds: latency, bytes_per_second: bandwidth, messages: 4000, spread: 0.12, sizes: [] });
  return {
    blocked,
    json: {
      why: [],
      exact,
      seconds: 10,
      by: 'blocked',
      linkage: 'single',
      totals: {
        messages: 300 * pairs.length, bytes: bytes * pairs.length, internode_messages: 300 * internode, internode_bytes: bytes * internode, pairs: pairs.length, blocked_seconds: blocked, send_seconds: 0.001 * pairs.length,
        late_sender_seconds: late, late_sender_error_seconds: exact ? 0 : 0.05, late_receiver_seconds: 0, late_receiver_error_seconds: 0, unexplained_seconds: 0.001, collective_wait_seconds: 0.2,
      },
      table: { rows: 2 * pairs.length, summed: 0, summed_blocked_seconds: 0, summed_bytes: 0 },
      cophenetic: 0.71,
      modularity: groups > 0 ? 0.42 : 0.05,
      topology_modularity: groups > 0 ? 0.2 : 0.05,
      groups_follow_topology: false,
      groups: Array.from({ length: groups }, (_, g) => ({ blocked_seconds: pairs.filter((p) => Math.floor(p.a / perGroup) === g && Math.floor(p.b / perGroup) === g).reduce((sum, p) => sum + p.blocked, 0) })),
      lines: nodes.length > 1 ? [line(true, 1.2e-6, 9e9), line(false, 4e-6, 2.5e9)] : [line(true, 1.2e-6, 9e9)],
      sizes: BYTES.map(size),
      call_paths: [{ call_path: 'MPI_Wait@halo.c:51', messages: 300 * pairs.length, bytes: bytes * pairs.length, blocked_seconds: blocked }],
      causes: [
        { rank: LATE, pair: null, share: 0.4 / late, seconds: 0.4, direct_seconds: 0.4, call_path: 'MPI_Send@halo.c:50', cluster: 2 },
        { rank: null, pair: [LATE, LATE + 1], share: 0.005 / late, seconds: 0.005, direct_seconds: 0.005, call_path: '', cluster: null },
      ],
      findings: [
        { kind: 'late-sender', seconds: 0.4, ranks: [LATE], pairs: [[LATE, LATE + 1]], node: '', factor: null, bytes: 0, messages: 0, call_path: 'MPI_Send@halo.c:50', text: `rank ${LATE} makes others wait 400 ms (${Math.round(40 / late)} % of all late-sender time): it computes 4 ms longer before MPI_Send@halo.c:50 than rank ${LATE + 1}`, advice: 'give other ranks part of its work, or send earlier; moriens waits --by callpath DIR' },
        ...(nodes.length > 1 ? [{ kind: 'placement', seconds: 0.01, ranks: [], pairs: [], node: '', factor: 0.5, bytes: 0, messages: 0, call_path: '', text: 'another order of the ranks halves the bytes between nodes', advice: 'write the order, and measure again: moriens pairs --order MPICH_RANK_ORDER --order-format mpich DIR (or rankfile, hostfile, slurm)' }] : []),
      ],
      nodes,
      placement: nodes.length > 1 ? { internode_bytes: bytes * internode, advised_internode_bytes: Math.round((bytes * internode) / 2), saved_seconds: 0.01, blocks_internode_bytes: bytes * internode, round_robin_internode_bytes: bytes * pairs.length } : null,
      left_out: { pairs: 0, messages: 0, bytes: 0, blocked_seconds: 0, sizes: 0 },
      ...json,
    },
    columns: {
      'pairs.rank.world': new Int32Array(ranks),
      'pairs.rank.rank': Int32Array.from({ length: ranks }, (_, i) => i),
      'pairs.rank.node': Int32Array.from({ length: ranks }, (_, i) => Math.floor(i / perNode)),
      'pairs.rank.group': Int32Array.from({ length: ranks }, (_, i) => (perGroup > 0 ? Math.floor(i / perGroup) : -1)),
      'pairs.rank.advised': Int32Array.from({ length: ranks }, (_, i) => (nodes.length > 1 ? Math.floor(((i + 1) % ranks) / perNode) : -1)),
      'pairs.each.a': Int32Array.from(pairs, (p) => p.a),
      'pairs.each.b': Int32Array.from(pairs, (p) => p.b),
      'pairs.each.messages': number(() => 300),
      'pairs.each.bytes': number(() => bytes),
      'pairs.each.blocked': number((p) => p.blocked),
      'pairs.each.send': number(() => 0.001),
      'pairs.each.longest': number((p) => p.blocked / 100),
      'pairs.each.first': number((p) => p.blocked / 200),
      'pairs.each.late_sender': number((p) => (exact || p.late > 0.1 ? p.late : NaN)),
      'pairs.each.late_sender_error': number((p) => (exact ? 0 : p.late > 0.1 ? 0.03 : NaN)),
      'pairs.each.late_receiver': number((p) => p.late / 2),
      'pairs.each.late_receiver_error': number((p) => (exact ? 0 : p.late > 0.1 ? 0.01 : NaN)),
      'pairs.size.pair': Int32Array.from(sizes, (s) => s.pair),
      'pairs.size.from': Float64Array.from(sizes, (s) => s.from),
      'pairs.size.messages': Float64Array.from(sizes, (s) => s.messages),
      'pairs.size.bytes': Float64Array.from(sizes, (s) => s.bytes),
      'pairs.size.blocked': Float64Array.from(sizes, (s) => s.blocked),
      'pairs.merge.left': Int32Array.from(left),
      'pairs.merge.right': Int32Array.from(right),
      'pairs.merge.height': Float64Array.from(height),
      'pairs.order': Int32Array.from(order),
    },
  };
}

// linkage joins by the heaviest pairs (Kruskal).
function linkage(ranks: number, pairs: readonly { a: number; b: number; blocked: number }[]) {
  const parent = Array.from({ length: ranks }, (_, i) => i);
  const find = (x: number) => {
    while (parent[x] !== x) x = parent[x] = parent[parent[x] ?? 0] ?? 0;
    return x;
  };
  const cluster = Array.from({ length: ranks }, (_, i) => i);
  const [left, right, height]: [number[], number[], number[]] = [[], [], []];
  for (const p of [...pairs].sort((x, y) => y.blocked - x.blocked || x.a - y.a || x.b - y.b)) {
    const [x, y] = [find(p.a), find(p.b)];
    if (x === y) continue;
    const [l, r] = [cluster[x] ?? 0, cluster[y] ?? 0];
    left.push(Math.min(l, r));
    right.push(Math.max(l, r));
    height.push(1 / p.blocked);
    parent[x] = y;
    cluster[y] = ranks + height.length - 1;
  }
  const roots = [...new Set(Array.from({ length: ranks }, (_, i) => cluster[find(i)] ?? 0))];
  const order: number[] = [];
  const todo = roots.reverse();
  for (let c = todo.pop(); c !== undefined; c = todo.pop()) {
    if (c < ranks) order.push(c);
    else todo.push(right[c - ranks] ?? 0, left[c - ranks] ?? 0);
  }
  return { left, right, height, order };
}
