// Who exchanged what with whom, as the page reads it: docs/format/page.md. Lists that grow with ranks and pairs are
// columns, which checkPairs holds to what they must be before a view takes them for indices.
import { count, flag, list, number, object, optional, pair, text, type Of } from './coerce';

const sizes = object({ from_bytes: count, to_bytes: count, messages: count, bytes: count, blocked_seconds: number });

export const readPairs = object({
  why: list(text),
  exact: flag,
  seconds: number,
  by: text,
  linkage: text,
  totals: optional(
    object({
      messages: count,
      bytes: count,
      internode_messages: count,
      internode_bytes: count,
      pairs: count,
      blocked_seconds: number,
      send_seconds: number,
      late_sender_seconds: number,
      late_sender_error_seconds: number,
      late_receiver_seconds: number,
      late_receiver_error_seconds: number,
      unexplained_seconds: number,
      collective_wait_seconds: number,
    }),
  ),
  table: object({ rows: count, summed: count, summed_blocked_seconds: number, summed_bytes: count }),
  cophenetic: number,
  modularity: number,
  topology_modularity: number,
  groups_follow_topology: flag,
  groups: list(object({ blocked_seconds: number })),
  lines: list(
    object({
      same_node: flag,
      latency_seconds: number,
      bytes_per_second: number,
      messages: count,
      spread: number,
      at_most: flag,
      does_not_follow_size: flag,
      sizes: list(object({ from_bytes: count, to_bytes: count, messages: count, quartile_seconds: number, median_seconds: number, p95_seconds: number, odd: flag })),
    }),
  ),
  sizes: list(sizes),
  call_paths: list(object({ call_path: text, messages: count, bytes: count, blocked_seconds: number })),
  causes: list(object({ rank: optional(count), pair: optional(pair(count)), share: number, seconds: number, direct_seconds: number, call_path: text, cluster: optional(count) })),
  findings: list(object({ kind: text, seconds: number, ranks: list(count), pairs: list(pair(count)), node: text, factor: number, bytes: count, messages: count, call_path: text, text, advice: text })),
  nodes: list(text),
  placement: optional(object({ internode_bytes: count, advised_internode_bytes: count, saved_seconds: number, blocks_internode_bytes: count, round_robin_internode_bytes: count })),
  left_out: object({ pairs: count, messages: count, bytes: count, blocked_seconds: number, sizes: count }),
});

export type Pairs = Of<typeof readPairs>;
export type Line = Pairs['lines'][number];
export type Cause = Pairs['causes'][number];
export type Finding = Pairs['findings'][number];

const RANK = ['world', 'rank', 'node', 'group', 'advised'];
const EACH = ['a', 'b', 'messages', 'bytes', 'blocked', 'send', 'longest', 'first', 'late_sender', 'late_sender_error', 'late_receiver', 'late_receiver_error'];
const SIZE = ['pair', 'from', 'messages', 'bytes', 'blocked'];
const MERGE = ['left', 'right', 'height'];

type Numbers = ArrayLike<number>;
type Columns = ReadonlyMap<string, Numbers>;

const isIndex = (v: number, from: number, to: number) => Number.isInteger(v) && v >= from && v < to;

// checkPairs says what of the columns cannot be, or nothing.
export function checkPairs(p: Pairs, columns: Columns): string {
  const of = (name: string) => columns.get(`pairs.${name}`);
  const ranks = of('rank.world')?.length ?? 0;
  const each = of('each.a')?.length ?? 0;
  const tables: [string, string[], number][] = [['rank', RANK, ranks], ['each', EACH, each], ['size', SIZE, of('size.pair')?.length ?? 0], ['merge', MERGE, of('merge.left')?.length ?? 0]];
  for (const [table, names, rows] of tables) {
    for (const name of names) {
      const have = of(`${table}.${name}`)?.length ?? 0;
      if (have !== rows) return `the column pairs.${table}.${name} has ${have} rows, not ${rows}`;
    }
  }
  const within = (name: string, from: number, to: number) => {
    const values = of(name) ?? [];
    for (let i = 0; i < values.length; i++) if (!isIndex(values[i]!, from, to)) return false;
    return true;
  };
  if (!within('rank.node', -1, p.nodes.length) || !within('rank.advised', -1, p.nodes.length)) return 'a rank is on an unknown node';
  if (!within('rank.group', -1, p.groups.length)) return 'a rank is in an unknown group';
  const [a, b] = [of('each.a') ?? [], of('each.b') ?? []];
  for (let i = 0; i < each; i++) {
    const [x, y] = [a[i]!, b[i]!];
    if (!isIndex(x, 0, y) || !isIndex(y, 0, ranks)) return `pair ${i} is of ranks that are none`;
  }
  if (!within('size.pair', 0, each)) return 'sizes are of an unknown pair';
  return checkTree(of('merge.left') ?? [], of('merge.right') ?? [], of('merge.height') ?? [], of('order') ?? [], ranks);
}

// checkTree sees to it that each cluster is joined once, after it was made, in order of height, and that leaves are all
// ranks, each once, those of a cluster side by side.
function checkTree(left: Numbers, right: Numbers, height: Numbers, order: Numbers, ranks: number): string {
  if (order.length !== ranks) return `the column pairs.order has ${order.length} rows, not ${ranks}`;
  const n = ranks + left.length;
  const [first, size, used] = [new Int32Array(n), new Int32Array(n).fill(1), new Uint8Array(n)];
  const seen = new Uint8Array(ranks);
  for (let at = 0; at < ranks; at++) {
    const leaf = order[at]!;
    if (!isIndex(leaf, 0, ranks) || seen[leaf] !== 0) return 'the order of the dendrogram is none of its ranks';
    seen[leaf] = 1;
    first[leaf] = at;
  }
  for (let i = 0; i < left.length; i++) {
    const [l, r, h] = [left[i]!, right[i]!, height[i]!];
    const known = l !== r && isIndex(l, 0, ranks + i) && isIndex(r, 0, ranks + i) && used[l] === 0 && used[r] === 0;
    if (!known || !(h > 0 && h < Infinity) || h < (height[i - 1] ?? 0)) return `merge ${i} of the dendrogram cannot be`;
    const [x, y] = first[l]! < first[r]! ? [l, r] : [r, l];
    if (first[x]! + size[x]! !== first[y]!) return `merge ${i} of the dendrogram is of clusters that do not lie side by side`;
    used[l] = used[r] = 1;
    first[ranks + i] = first[x]!;
    size[ranks + i] = size[x]! + size[y]!;
  }
  return '';
}
