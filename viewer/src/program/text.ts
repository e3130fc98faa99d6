// The words of a line, as analysis/program/text prints them: keywords, names, and what else there is.
import type { Node } from '../data/program';
import { count, plural } from '../format';
import { printRanges, rangesOf } from '../state/ranges';

export interface Word {
  readonly what: 'keyword' | 'name' | 'plain' | 'remark';
  readonly text: string;
}

// Round is what a line lies in.
export interface Round {
  readonly loops: readonly string[]; // variables, of those that have one
  readonly branches: readonly Node[]; // of its condition, before it
  readonly ranks: number; // of the run
  readonly basis: string;
}

// Variables that are no loop's: how often a body was executed so far, and the depth of a recursion.
const OTHERS = ['', 'n', 'depth'];

// named is an expression with a variable, which is marked where its loop is not shown.
function named(said: string, variable: string, loops: readonly string[]): string {
  if (OTHERS.includes(variable) || loops.includes(variable)) return said;
  return said.replace(/[A-Za-z_]\w*/g, (word) => (word === variable ? `${word}'` : word));
}

const called = (name: string) => (name.endsWith(')') ? name : `${name || 'an unknown function'}()`);

// significant is a number of three digits, two of them behind the point at most.
function significant(v: number): string {
  const power = v === 0 ? 0 : Math.floor(Math.log10(Math.abs(v) * 1.0005));
  return v.toFixed(Math.min(2, Math.max(0, 2 - power)));
}

// tripsOf is what stands behind 1..: in brackets where it is more than one number.
function tripsOf(n: Node, loops: readonly string[]): string {
  const said = n.trips?.expression || '?';
  const trips = n.trips?.linear ? named(said, n.trips.linear.variable, loops) : said;
  const bound = !n.trips?.at_least ? (n.trips?.at_most ? ' or fewer' : '') : n.trips.at_most ? ' or so' : ' or more';
  return (/[, ]|\.\./.test(trips) ? `(${trips.replace(/^[()]+|[()]+$/g, '')})` : trips) + bound;
}

function threadsOf(n: Node): string {
  const threads = n.threads!;
  const ranks = n.ranks ? ` of ${n.ranks.length === 1 ? 'rank' : 'ranks'} ${numbers(n.ranks)}` : '';
  return `of ${threads.length === 1 ? 'thread' : 'threads'} ${numbers(threads)}${ranks}`;
}

// wordsOf gives the words of a line.
export function wordsOf(n: Node, round: Round): Word[] {
  const words: Word[] = [];
  const remarks: string[] = [];
  const put = (what: Word['what'], text: string) => words.push({ what, text });
  switch (n.kind) {
    case 'loop':
      put('keyword', 'FOR');
      put('plain', ` ${n.variable ? `${n.variable} = ` : ''}1..${tripsOf(n, round.loops)}${n.stands_for > 1 ? ` (${count(n.stands_for)} loops)` : ''}`);
      if (n.trips?.kind === 'varies') remarks.push(`mean ${significant(n.trips.mean)}`);
      if (n.trips?.likely) remarks.push('likely');
      if (n.trips?.with_calls) remarks.push('trips with calls');
      if (n.unrolled > 1) remarks.push('unrolled');
      if (n.by === 'sequence' && round.basis !== 'sequence') remarks.push('by sequence');
      break;
    case 'call':
    case 'recursion':
      put('name', called(n.function));
      if (n.kind === 'recursion') remarks.push('recursion');
      if (n.recursive) remarks.push('recursive');
      if (n.inlined) remarks.push('inlined');
      if (n.threads) remarks.push(threadsOf(n));
      break;
    case 'if': {
      const whole = n.else && completes(n, round.branches, round.ranks);
      put('keyword', whole ? 'ELSE' : n.else ? 'ELSE IF' : 'IF');
      if (!whole) put('plain', ` ${conditionOf(n, round.loops)}`);
      break;
    }
    case 'mpi':
      put('name', n.function || 'MPI');
      put('plain', `(${[...n.peers.map((p) => `${p.way} ${p.text}`), ...(n.root === null ? [] : [`root ${n.root}`]), ...(n.communicator ? [`on ${n.communicator}`] : [])].join(', ')})`);
      break;
    case 'compute':
      put('keyword', 'compute');
      break;
    case 'other':
      put('remark', `… ${n.lines > 0 ? plural(n.lines, 'line') : 'lines'}, summed: each takes little time`);
      break;
    default:
      put('plain', n.kind || 'a line of an unknown kind');
  }
  if (n.by === 'order' && round.basis !== 'order') remarks.push('by order');
  if (n.note) remarks.push(n.note);
  if (remarks.length > 0) put('remark', `  # ${remarks.join(', ')}`);
  return words;
}

export const textOf = (words: readonly Word[]) => words.map((w) => w.text).join('');

export function conditionOf(n: Node, loops: readonly string[]): string {
  const parts: string[] = [];
  if (n.ranks) parts.push(n.ranks_text || ranksText(n.ranks));
  if (n.when) parts.push(whenOf(n, loops));
  return parts.join(' and ') || `(${count(n.happened)} of ${count(n.of)} times)`;
}

function whenOf(n: Node, loops: readonly string[]): string {
  const c = n.when!;
  if (c.kind === 'unknown') return `(${count(n.happened)} of ${count(n.of)} times, no rule found)`;
  if (n.when_text) return named(n.when_text, c.variable, loops);
  const trip = named(c.variable, c.variable, loops);
  const v = c.rank ? `(${trip} ${c.rank > 0 ? '+' : '-'} rank)` : trip;
  const said: Record<string, string> = {
    every: `${v} % ${c.period} == ${c.offset}`,
    'not every': `${v} % ${c.period} != ${c.offset}`,
    at: `${v} == ${c.trip}`,
    'not at': `${v} != ${c.trip}`,
    from: `${v} >= ${c.trip}`,
    to: `${v} <= ${c.trip}`,
    range: `${v} in ${c.first}..${c.last}${c.stride > 1 ? `:${c.stride}` : ''}`,
    last: `${v} == last`,
    'not last': `${v} != last`,
    depth: `depth == ${c.trip}`,
  };
  return Object.hasOwn(said, c.kind) ? said[c.kind]! : c.kind || 'an unknown condition';
}

const ranksText = (ranks: readonly number[]) => (ranks.length === 1 ? `rank == ${ranks[0]!}` : `rank in ${numbers(ranks) || 'none'}`);

const SPANS = 6; // stretches of numbers that are named

function numbers(list: readonly number[]): string {
  const spans = rangesOf(list);
  return spans.length > SPANS ? `${printRanges(spans.slice(0, SPANS))},… (${count(list.length)})` : printRanges(spans);
}

// completes reports whether a branch takes all that those before it leave.
export function completes(n: Node, branches: readonly Node[], ranks: number): boolean {
  // Who has found the condition gives it no words where it closes the chain.
  if (!n.ranks_text && !n.when_text && n.when?.kind !== 'unknown') return true;
  if ([...branches, n].some((b) => b.threads)) return false; // what ranks there are decides nothing
  // Branches exclude each other.
  if (n.when?.kind === 'unknown') return n.of > 0 && branches.reduce((sum, b) => sum + b.happened, n.happened) === n.of;
  const [first] = branches;
  if (branches.length === 1 && first?.when && n.when && String(n.ranks) === String(first.ranks)) return exclude(n.when, first.when) || exclude(first.when, n.when);
  const taken = new Set<number>();
  for (const b of [...branches, n]) {
    if (b.when || !b.ranks) return false;
    for (const r of b.ranks) taken.add(r);
  }
  return taken.size === ranks;
}

function exclude(a: NonNullable<Node['when']>, b: NonNullable<Node['when']>): boolean {
  if (a.variable !== b.variable || a.rank !== b.rank) return false;
  switch (a.kind) {
    case 'every':
      return (b.kind === 'not every' && a.period === b.period && a.offset === b.offset) || (b.kind === 'every' && a.period === 2 && b.period === 2 && a.offset !== b.offset);
    case 'at':
      return b.kind === 'not at' && a.trip === b.trip;
    case 'from':
      return b.kind === 'to' && b.trip === a.trip - 1;
    case 'last':
      return b.kind === 'not last';
    default:
      return false;
  }
}
