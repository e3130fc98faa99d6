// The program as a list of lines, in the order of the text, with what lies in each, and how lines, bursts and calls
// belong together.
import { FILTERED, MISSING, NOISE } from '../data/clusters';
import type { Pack } from '../data/pack';
import type { Node, Program } from '../data/program';
import { base } from '../data/run';
import type { Selection } from '../store';
import { inRanges, mergeRanges, type Range } from '../state/ranges';
import { textOf, wordsOf, type Word } from './text';

export interface Line {
  readonly at: number; // in Model.lines
  readonly node: Node;
  readonly up: number; // the line that it is in; -1 = none
  readonly depth: number;
  readonly end: number; // the first line behind what is in it
  readonly words: readonly Word[];
  readonly text: string;
  readonly place: string; // FILE:LINE
  readonly computeNS: number; // with what is in it
  readonly mpiNS: number;
  readonly ranks: readonly number[] | null; // of its own condition; null = all that are there
}

export interface Model {
  readonly lines: readonly Line[];
  readonly ranks: number;
  readonly computeNS: number;
  readonly mpiNS: number;
  readonly joined: boolean; // numbers of call paths are those of the page
  readonly ofID: ReadonlyMap<number, number>;
  readonly ofPath: ReadonlyMap<number, number>; // call path → mpi line
  readonly ofPair: ReadonlyMap<string, number>; // call paths round a burst → compute line
}

// A Reading is how loops were found: the program's own way first, then others to compare.
export type Reading = 'code' | 'order' | 'thesis';

const known = new WeakMap<Pack, Map<Reading, Model>>();

export function readingsOf(pack: Pack): Reading[] {
  const p = pack.json.program;
  if (!p) return [];
  const others = p.readings;
  return [p.basis === 'order' ? 'order' : 'code', ...((others?.order || others?.order_same) && p.basis !== 'order' ? (['order'] as const) : []), ...(others?.thesis ? (['thesis'] as const) : [])];
}

const SAME = 'The order of lines finds the same loops and conditions as the machine code; lines of loops are those of the code.';

// byOrder are lines of which none is by machine code.
const byOrder = (body: readonly Node[]): Node[] => body.map((n) => ({ ...n, by: n.by === 'code' ? 'order' : n.by, body: byOrder(n.body) }));

// programOf is a reading; null = the page does not have it.
export function programOf(pack: Pack, reading: Reading): Program | null {
  const p = pack.json.program;
  const at = readingsOf(pack).indexOf(reading);
  if (!p || at < 0) return null;
  if (at === 0) return p;
  if (reading === 'order') return p.readings?.order ?? { ...p, basis: 'order', why: [...p.why, SAME], body: byOrder(p.body) };
  return p.readings?.thesis?.program ?? null;
}

// What is not known, or is no call, is 0 in the run and less in the page.
const pairOf = (before: number, after: number) => `${Math.max(0, before)},${Math.max(0, after)}`;

// modelOf is the program as all views know it, readingOf one of its readings.
export function modelOf(pack: Pack): Model | null {
  const [first] = readingsOf(pack);
  return first ? readingOf(pack, first) : null;
}

export function readingOf(pack: Pack, reading: Reading): Model | null {
  const p = programOf(pack, reading);
  if (!p) return null;
  const all = known.get(pack) ?? new Map<Reading, Model>();
  known.set(pack, all);
  let m = all.get(reading);
  if (!m) all.set(reading, (m = build(p, pack.json.program_joined)));
  return m;
}

// sameIn is the line of another reading with the same calls, or the same computing; -1 = none.
export function sameIn(to: Model, from: Model, at: number): number {
  const node = from.lines[at]?.node;
  if (!node || to === from) return at;
  if (!from.joined) return -1;
  const [path, pair] = [node.paths[0], node.around[0]];
  if (node.kind === 'mpi' && path !== undefined) return to.ofPath.get(path) ?? -1;
  return node.kind === 'compute' && pair ? (to.ofPair.get(pairOf(pair[0], pair[1])) ?? -1) : -1;
}

type Draft = { -readonly [K in keyof Line]: Line[K] };

function build({ body, ranks, basis }: Program, joined: boolean): Model {
  const lines: Draft[] = [];
  const tails = tailsOf(body);
  const add = (list: readonly Node[], up: number, depth: number, loops: readonly string[]): [number, number] => {
    let [compute, mpi] = [0, 0];
    list.forEach((node, i) => {
      let first = i;
      while (first > 0 && list[first]!.else) first--;
      const branches = node.else ? list.slice(first, i) : [];
      const words = wordsOf(node, { loops, branches, ranks, basis });
      const tail = tails.get(node.file) ?? '';
      const line: Draft = {
        at: lines.length, node, up, depth, end: 0, words, text: textOf(words), place: tail && node.line > 0 ? `${tail}:${node.line}` : tail,
        computeNS: 0, mpiNS: 0, ranks: node.ranks ?? elseRanks(node, branches, ranks),
      };
      lines.push(line);
      const [c, m] = add(node.body, line.at, depth + 1, node.kind === 'loop' && node.variable ? [...loops, node.variable] : loops);
      // A block has its own figures only where its lines are not here.
      line.computeNS = Math.max(node.compute_ns, c);
      line.mpiNS = Math.max(node.mpi_ns, m);
      line.end = lines.length;
      compute += line.computeNS;
      mpi += line.mpiNS;
    });
    return [compute, mpi];
  };
  const [computeNS, mpiNS] = add(body, -1, 0, []);
  const [ofID, ofPath, ofPair] = [new Map<number, number>(), new Map<number, number>(), new Map<string, number>()];
  const put = <K>(to: Map<K, number>, key: K, at: number) => {
    if (!to.has(key)) to.set(key, at);
  };
  for (const { at, node } of lines) {
    put(ofID, node.id, at);
    if (node.kind === 'mpi') for (const path of node.paths) put(ofPath, path, at);
    for (const [before, after] of node.around) put(ofPair, pairOf(before, after), at);
  }
  return { lines, ranks, computeNS, mpiNS, joined, ofID, ofPath, ofPair };
}

// elseRanks are the ranks that the branches before leave, where all of these are by rank.
function elseRanks(node: Node, branches: readonly Node[], ranks: number): number[] | null {
  if (!node.else || node.when || branches.length === 0 || branches.some((b) => b.when || !b.ranks)) return null;
  const taken = new Set(branches.flatMap((b) => b.ranks ?? []));
  return Array.from({ length: ranks }, (_, r) => r).filter((r) => !taken.has(r));
}

// tailsOf are the ends of the names of files that distinguish them.
function tailsOf(body: readonly Node[]): Map<string, string> {
  const files = new Set<string>();
  const look = (list: readonly Node[]) => {
    for (const n of list) {
      if (n.file) files.add(n.file);
      look(n.body);
    }
  };
  look(body);
  const tails = new Map([...files].map((file) => [file, base(file)]));
  for (let longer = true; longer; ) {
    longer = false;
    const times = new Map<string, number>();
    for (const tail of tails.values()) times.set(tail, (times.get(tail) ?? 0) + 1);
    for (const [file, tail] of tails) {
      if (times.get(tail)! < 2 || tail.length >= file.length) continue;
      const rest = file.slice(0, file.length - tail.length).replace(/\/+$/, '');
      tails.set(file, file.slice(rest.lastIndexOf('/') + 1));
      longer = true;
    }
  }
  return tails;
}

export const isBlock = (l: Line) => l.end > l.at + 1;

// SHORT is the share of all computing below which a line of it is short, as moriens structure has it without --all.
export const SHORT = 0.005;

// shortOf lists the lines of short computation, but for those that a block has alone.
export function shortOf(m: Model): Set<number> {
  const alone = (l: Line) => l.up >= 0 && m.lines[l.up]!.node.body.length === 1;
  return new Set(m.lines.filter((l) => l.node.kind === 'compute' && l.computeNS < SHORT * m.computeNS && !alone(l)).map((l) => l.at));
}

// titleOf names a line where what is round it is not seen.
export function titleOf(m: Model, l: Line): string {
  const text = textOf(l.words.filter((w) => w.what !== 'remark')).trim();
  const round = stackOf(m, l.at).slice(0, -1);
  const lies = round.findLast((i) => m.lines[i]!.node.kind === 'call') ?? round.findLast((i) => m.lines[i]!.node.kind === 'loop');
  return lies === undefined || l.node.kind === 'call' ? text || l.text : `${text || l.text} in ${textOf(m.lines[lies]!.words.filter((w) => w.what !== 'remark'))}`;
}

// stackOf are the lines round a line, the outermost first, and itself.
export function stackOf(m: Model, at: number): number[] {
  const stack: number[] = [];
  for (let i = at; i >= 0; i = m.lines[i]!.up) stack.push(i);
  return stack.reverse();
}

// ranksOf are the ranks that reach a line; null = all.
export function ranksOf(m: Model, at: number): number[] | null {
  const [first, ...rest] = stackOf(m, at).flatMap((i) => (m.lines[i]!.ranks ? [new Set(m.lines[i]!.ranks)] : []));
  return first ? [...first].filter((r) => rest.every((has) => has.has(r))) : null;
}

// runBy says of each line whether one of some ranks reaches it. Computation before a condition, which ends with calls that
// others make there, is theirs.
export function runBy(m: Model, ranks: ReadonlySet<number>): Uint8Array {
  const runs = new Uint8Array(m.lines.length);
  const left: ReadonlySet<number>[] = [];
  for (const l of m.lines) {
    const round = l.up < 0 ? ranks : left[l.up]!;
    const own = l.ranks ? new Set(l.ranks.filter((r) => round.has(r))) : round;
    left.push(own);
    runs[l.at] = Number(own.size > 0);
  }
  const [all, made] = [new Set<number>(), new Set<number>()];
  for (const { at, node } of m.lines) {
    for (const path of node.paths) {
      all.add(path);
      if (runs[at]) made.add(path);
    }
  }
  for (const { at, node } of m.lines) {
    if (node.kind === 'compute' && node.around.length > 0 && node.around.every(([, after]) => all.has(after) && !made.has(after))) runs[at] = 0;
  }
  return runs;
}

// ranksIn are the ranks of threads.
export function ranksIn(pack: Pack, threads: readonly Range[]): Set<number> {
  const ranks = new Set<number>();
  pack.column('thread.rank').forEach((r, t) => {
    if (inRanges(threads, t)) ranks.add(r);
  });
  return ranks;
}

// threadsOf are the threads of ranks.
export function threadsOf(pack: Pack, ranks: readonly number[]): Range[] {
  const wanted = new Set(ranks);
  const threads: Range[] = [];
  pack.column('thread.rank').forEach((r, t) => {
    if (wanted.has(r)) threads.push([t, t]);
  });
  return mergeRanges(threads);
}

// clustersOf are the clusters of a line's bursts, with those that are in none where the line has such; null: not known.
export function clustersOf(n: Node): number[] | null {
  if (n.clusters.length === 0) return null;
  const bursts = n.clusters.reduce((sum, c) => sum + c.bursts, 0);
  const ids = n.clusters.map((c) => c.cluster);
  return [...new Set(bursts < n.count ? [...ids, NOISE, FILTERED, MISSING] : ids)];
}

// lineOf is the selected line of a program; -1 = none.
export function lineOf(pack: Pack, s: Pick<Selection, 'line'>): number {
  const m = s.line === null ? null : modelOf(pack);
  return m?.joined ? (m.ofID.get(s.line!) ?? -1) : -1;
}

// lineOfBurst is the line of a row of points, lineOfCall that of a row of calls; -1 = not known.
export function lineOfBurst(pack: Pack, row: number): number {
  const m = modelOf(pack);
  return m?.joined ? (m.ofPair.get(pairOf(pack.column('points.before')[row] ?? -1, pack.column('points.after')[row] ?? -1)) ?? -1) : -1;
}

export function lineOfCall(pack: Pack, row: number): number {
  const m = modelOf(pack);
  return m?.joined ? (m.ofPath.get(pack.column('calls.path')[row] ?? -1) ?? -1) : -1;
}

// Of a line that is selected: which bursts and which calls of the page are its own.
interface Own {
  readonly bursts: Uint8Array;
  readonly calls: Uint8Array;
}

const owned = new WeakMap<Pack, Map<number, Own>>();

// ownOf gives the bursts and calls of the selected line; null: no line is selected.
export function ownOf(pack: Pack, s: Pick<Selection, 'line'>): Own | null {
  const at = lineOf(pack, s);
  const m = modelOf(pack);
  if (at < 0 || !m) return null;
  const all = owned.get(pack) ?? new Map<number, Own>();
  owned.set(pack, all);
  let own = all.get(at);
  if (!own) {
    const { end } = m.lines[at]!;
    const within = (line: number | undefined) => Number(line !== undefined && line >= at && line < end);
    const [before, after] = [pack.column('points.before'), pack.column('points.after')];
    const ranks = ranksOf(m, at);
    const reaches = new Set(ranks);
    const [thread, rank] = [pack.column('points.thread'), pack.column('thread.rank')];
    own = {
      bursts: Uint8Array.from(before, (b, i) => (ranks && !reaches.has(rank[thread[i]!] ?? -1) ? 0 : within(m.ofPair.get(pairOf(b, after[i]!))))),
      calls: Uint8Array.from(pack.column('calls.path'), (p) => within(m.ofPath.get(p))),
    };
    all.clear(); // of the line selected last
    all.set(at, own);
  }
  return own;
}
