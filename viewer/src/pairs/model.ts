// Ranks and pairs of a page, with what views look up of them.
import { threadOf } from '../data/names';
import type { Pack } from '../data/pack';
import type { Pairs } from '../data/pairs';
import { rangesOf, type Range } from '../state/ranges';
import type { Selection } from '../store';

type Numbers = ArrayLike<number>;

export interface Model {
  readonly json: Pairs;
  readonly worlds: boolean; // ranks must be named with their world
  readonly ranks: number;
  readonly world: Numbers;
  readonly rank: Numbers;
  readonly node: Numbers; // index into json.nodes, -1 = not known
  readonly group: Numbers; // of those reported, -1 = none
  readonly advised: Numbers; // likewise a node
  readonly thread: Int32Array; // first thread of each rank, -1 = not in the page
  readonly rankOf: Int32Array; // rank of each thread, -1 = none
  readonly pairs: number;
  readonly a: Numbers;
  readonly b: Numbers;
  readonly messages: Numbers;
  readonly bytes: Numbers;
  readonly blocked: Numbers;
  readonly send: Numbers;
  readonly longest: Numbers;
  readonly first: Numbers;
  readonly lateSender: Numbers;
  readonly lateSenderError: Numbers;
  readonly lateReceiver: Numbers;
  readonly lateReceiverError: Numbers;
  readonly sizes: { readonly pair: Numbers; readonly from: Numbers; readonly messages: Numbers; readonly bytes: Numbers; readonly blocked: Numbers };
  readonly left: Numbers;
  readonly right: Numbers;
  readonly height: Numbers;
  readonly order: Numbers; // rank at each place of the dendrogram
  readonly place: Int32Array; // and the place of each rank
  readonly begin: Int32Array; // first place of each cluster: ranks, then merges
  readonly size: Int32Array; // how many places it has
}

// modelOf is null where the page has no pairs.
export function modelOf(pack: Pack): Model | null {
  const json = pack.json.pairs;
  if (!json) return null;
  const of = (name: string) => pack.column(`pairs.${name}`);
  const [world, rank, order, left, right] = [of('rank.world'), of('rank.rank'), of('order'), of('merge.left'), of('merge.right')];
  const ranks = rank.length;
  const [thread, rankOf] = [new Int32Array(ranks).fill(-1), new Int32Array(pack.json.threads).fill(-1)];
  const key = (w: number, r: number) => `${w}/${r}`;
  const number = new Map<string, number>();
  for (let i = 0; i < ranks; i++) number.set(key(world[i]!, rank[i]!), i);
  for (let t = pack.json.threads - 1; t >= 0; t--) {
    const name = threadOf(pack, t);
    const i = number.get(key(name.world, name.rank)) ?? -1;
    rankOf[t] = i;
    if (i >= 0) thread[i] = t;
  }
  const place = new Int32Array(ranks);
  for (let at = 0; at < ranks; at++) place[order[at]!] = at;
  const [begin, size] = [new Int32Array(ranks + left.length), new Int32Array(ranks + left.length).fill(1)];
  begin.set(place);
  for (let i = 0; i < left.length; i++) {
    const [l, r] = [left[i]!, right[i]!];
    begin[ranks + i] = Math.min(begin[l]!, begin[r]!);
    size[ranks + i] = size[l]! + size[r]!;
  }
  return {
    json, worlds: (pack.json.manifest?.worlds.length ?? 0) > 1, ranks, world, rank, node: of('rank.node'), group: of('rank.group'), advised: of('rank.advised'), thread, rankOf,
    pairs: of('each.a').length, a: of('each.a'), b: of('each.b'), messages: of('each.messages'), bytes: of('each.bytes'), blocked: of('each.blocked'), send: of('each.send'),
    longest: of('each.longest'), first: of('each.first'), lateSender: of('each.late_sender'), lateSenderError: of('each.late_sender_error'), lateReceiver: of('each.late_receiver'), lateReceiverError: of('each.late_receiver_error'),
    sizes: { pair: of('size.pair'), from: of('size.from'), messages: of('size.messages'), bytes: of('size.bytes'), blocked: of('size.blocked') },
    left, right, height: of('merge.height'), order, place, begin, size,
  };
}

// late is how long both ranks of a pair waited for each other; NaN: not known.
export function late(m: Model, i: number): number {
  const [sender, receiver] = [m.lateSender[i]!, m.lateReceiver[i]!];
  return Number.isNaN(sender) ? receiver : sender + (Number.isNaN(receiver) ? 0 : receiver);
}

// A Quantity is what a cell of the matrix has the colour of.
export interface Quantity {
  readonly id: string;
  readonly title: string;
  readonly unit: string; // s, B or none
  readonly of: (m: Model, i: number) => number;
  readonly mean?: true; // a sum of it is none
}

export const QUANTITIES: readonly [Quantity, ...Quantity[]] = [
  { id: 'blocked', title: 'blocked time', unit: 's', of: (m, i) => m.blocked[i]! },
  { id: 'late', title: 'waits for late ranks', unit: 's', of: late },
  { id: 'bytes', title: 'bytes', unit: 'B', of: (m, i) => m.bytes[i]! },
  { id: 'messages', title: 'messages', unit: '', of: (m, i) => m.messages[i]! },
  { id: 'size', title: 'mean size', unit: 'B', of: (m, i) => m.bytes[i]! / m.messages[i]!, mean: true },
];

// sameNode says whether two ranks are on one node; of a rank on a node that is not known they are not.
export const sameNode = (m: Model, a: number, b: number) => m.node[a] === m.node[b] && m.node[a]! >= 0;

// find gives the number of a pair, -1 = the page has none of these ranks.
export function find(m: Model, x: number, y: number): number {
  const [a, b] = x < y ? [x, y] : [y, x];
  let [low, high] = [0, m.pairs];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (m.a[mid]! < a || (m.a[mid] === a && m.b[mid]! < b)) low = mid + 1;
    else high = mid;
  }
  return low < m.pairs && m.a[low] === a && m.b[low] === b ? low : -1;
}

// A Cut is the groups that a cut of the dendrogram leaves.
export interface Cut {
  readonly merges: number; // below it
  readonly groups: number;
  readonly label: Int32Array; // group of each rank, in the order of the dendrogram; -1 = alone
  readonly modularity: number;
  readonly given: boolean; // it is that of the file
}

// givenCut is what the file has: its groups, and how many merges are within them.
export function givenCut(m: Model): Cut {
  const of = Int32Array.from({ length: m.ranks + m.left.length }, (_, i) => (i < m.ranks ? m.group[i]! : -1));
  let merges = 0;
  for (let i = 0; i < m.left.length; i++) {
    const [l, r] = [of[m.left[i]!]!, of[m.right[i]!]!];
    if (l < 0 || l !== r) continue;
    of[m.ranks + i] = l;
    merges++;
  }
  if (m.json.groups.length === 0) return { ...cut(m, m.left.length), modularity: m.json.modularity, given: true };
  const label = Int32Array.from(m.group);
  return { merges, groups: label.reduce((n, g) => n + Number(g < 0), m.json.groups.length), label, modularity: m.json.modularity, given: true };
}

// cut joins the clusters of the first so many merges.
export function cut(m: Model, merges: number): Cut {
  const of = new Int32Array(m.ranks + m.left.length).fill(-1);
  const tops: number[] = [];
  for (let i = merges - 1; i >= 0; i--) {
    const c = m.ranks + i;
    if (of[c]! < 0) of[c] = tops.push(c) - 1;
    of[m.left[i]!] = of[m.right[i]!] = of[c]!;
  }
  // From left to right.
  const sorted = tops.map((c, group) => ({ group, begin: m.begin[c]! })).sort((x, y) => x.begin - y.begin);
  const named = new Int32Array(tops.length);
  sorted.forEach((t, i) => (named[t.group] = i));
  const label = Int32Array.from({ length: m.ranks }, (_, r) => (of[r]! < 0 ? -1 : named[of[r]!]!));
  return { merges, groups: m.ranks - merges, label, modularity: modularity(m, label), given: false };
}

// modularity is Newman's, by blocked time.
function modularity(m: Model, label: Int32Array): number {
  const degree = new Float64Array(m.ranks);
  let [all, inside] = [0, 0];
  for (let i = 0; i < m.pairs; i++) {
    const [a, b, w] = [m.a[i]!, m.b[i]!, m.blocked[i]! || 0];
    all += w;
    degree[a]! += w;
    degree[b]! += w;
    if (label[a]! >= 0 && label[a] === label[b]) inside += w;
  }
  if (all === 0) return NaN;
  const sums = new Map<number, number>();
  let alone = 0;
  degree.forEach((d, r) => {
    if (label[r]! < 0) alone += d * d;
    else sums.set(label[r]!, (sums.get(label[r]!) ?? 0) + d);
  });
  return inside / all - [...sums.values()].reduce((sum, d) => sum + d * d, alone) / (4 * all * all);
}

// below gives how many merges have at least this blocked time.
export function below(m: Model, seconds: number): number {
  let [low, high] = [0, m.height.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (1 / m.height[mid]! >= seconds) low = mid + 1;
    else high = mid;
  }
  return low;
}

export interface Group {
  readonly number: number;
  readonly ranks: readonly number[];
  readonly seconds: number; // blocked, between its ranks
}

// groupsOf lists the groups of a cut, by blocked time between their ranks.
export function groupsOf(m: Model, { label, given }: Cut): Group[] {
  const ranks = new Map<number, number[]>();
  label.forEach((g, r) => {
    if (g < 0) return;
    const of = ranks.get(g);
    if (of) of.push(r);
    else ranks.set(g, [r]);
  });
  const seconds = new Map<number, number>();
  for (let i = 0; i < m.pairs; i++) {
    const g = label[m.a[i]!]!;
    if (g >= 0 && g === label[m.b[i]!]) seconds.set(g, (seconds.get(g) ?? 0) + (m.blocked[i]! || 0));
  }
  return [...ranks].map(([number, of]) => ({ number, ranks: of, seconds: (given ? m.json.groups[number]?.blocked_seconds : undefined) ?? seconds.get(number) ?? 0 })).sort((x, y) => y.seconds - x.seconds || x.number - y.number);
}

// chosenOf marks the ranks that are selected; null: all are.
export function chosenOf(m: Model, threads: Selection['threads']): Uint8Array | null {
  if (threads === null) return null;
  const chosen = new Uint8Array(m.ranks);
  for (const [first, last] of threads) {
    for (let t = Math.max(0, first); t <= Math.min(last, m.rankOf.length - 1); t++) if (m.rankOf[t]! >= 0) chosen[m.rankOf[t]!] = 1;
  }
  return chosen;
}

// listed gives the pairs of what is selected: those of one rank, or those between several; all where nothing is.
export function listed(m: Model, chosen: Uint8Array | null): number[] {
  const all = Array.from({ length: m.pairs }, (_, i) => i);
  if (chosen === null) return all;
  const several = chosen.reduce((n, c) => n + c, 0) > 1;
  return all.filter((i) => {
    const [a, b] = [chosen[m.a[i]!]!, chosen[m.b[i]!]!];
    return several ? a && b : a || b;
  });
}

// threadsOf gives the threads that stand for ranks in the selection.
export function threadsOf(m: Model, ranks: Iterable<number>): Range[] | null {
  const of = rangesOf([...ranks].map((r) => m.thread[r]!).filter((t) => t >= 0));
  return of.length > 0 ? of : null;
}
