// What unusual marks in the text mean, as analysis/program/text explains them where they occur.
import type { Node } from '../data/program';
import type { Model } from './model';

export interface Mark {
  readonly mark: string;
  readonly text: string;
}

const counted = (n: Node) => (n.when && n.when.kind !== 'unknown' ? n.when.variable : '');
const byTrip = (n: Node) => !['last', 'not last', 'depth'].includes(n.when?.kind ?? '') && !['', 'n', 'depth'].includes(counted(n));

const MARKS: readonly (Mark & { readonly on: (n: Node, basis: string) => boolean })[] = [
  { mark: 'no rule found', text: 'when the lines below run follows from neither rank nor trip', on: (n) => n.when?.kind === 'unknown' },
  { mark: 'N loops', text: 'so many loops directly round each other, which make the same calls in the same order as one', on: (n) => n.stands_for > 1 },
  { mark: 'by order', text: 'from the order of lines, where the machine code is not known: it may be otherwise', on: (n, basis) => n.by === 'order' && basis !== 'order' },
  { mark: 'by sequence', text: 'from calls that repeat: it may be otherwise', on: (n) => n.kind === 'loop' && n.by === 'sequence' },
  { mark: 'or more, or fewer', text: 'the calls do not show where one trip ends and the next one begins: they are counted to the inner loop', on: (n) => n.trips !== null && (n.trips.at_least || n.trips.at_most) },
  { mark: 'likely', text: 'the calls do not show where one trip ends and the next one begins: with these trips they are regular', on: (n) => n.trips?.likely === true },
  { mark: 'trips with calls', text: 'a trip can make no MPI call; such trips are not seen, and not counted', on: (n) => n.trips?.with_calls === true },
  { mark: 'unrolled', text: 'the compiler has made copies of the body, which are shown once', on: (n) => n.unrolled > 1 },
  { mark: 'i', text: 'in conditions, and in the trips of other loops, trips count from 0: i == 0 is the first one', on: (n) => byTrip(n) || (n.trips?.linear ?? null) !== null },
  { mark: 'IF n', text: 'n counts how often the lines round the condition were executed, from 0', on: (n) => counted(n) === 'n' },
];

// marksOf lists the marks of a program that need an explanation.
export function marksOf(m: Model, basis: string): Mark[] {
  return MARKS.filter(({ on }) => m.lines.some((l) => on(l.node, basis)));
}
