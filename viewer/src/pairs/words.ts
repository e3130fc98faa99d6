// What is said of ranks and pairs, in the words of `moriens pairs`.
import { ranksName } from '../data/names';
import type { Line, Pairs } from '../data/pairs';
import { bytes, count, ns, percent, plural, seconds } from '../format';
import { rangesOf } from '../state/ranges';
import { sameNode, type Model, type Quantity } from './model';

// rankName names a rank.
export function rankName(m: Model, r: number): string {
  if (!(r >= 0 && r < m.ranks)) return 'an unknown rank';
  return `${m.worlds ? `world ${m.world[r]} ` : ''}rank ${m.rank[r]}`;
}

export const nodeName = (m: Model, r: number) => m.json.nodes[m.node[r]!] ?? '';

function onNode(m: Model, r: number): string {
  const node = nodeName(m, r);
  return node ? `${rankName(m, r)} on ${node}` : rankName(m, r);
}

export const pairName = (m: Model, a: number, b: number) => `${onNode(m, a)} and ${onNode(m, b)}`;

// ranksText lists ranks briefly: "0-3,8"; of several worlds each with its own.
export function ranksText(m: Model, ranks: readonly number[]): string {
  const worlds = new Map<number, number[]>();
  for (const r of ranks) {
    const of = worlds.get(m.world[r]!);
    if (of) of.push(m.rank[r]!);
    else worlds.set(m.world[r]!, [m.rank[r]!]);
  }
  return [...worlds].map(([w, of]) => `${m.worlds ? `world ${w} ` : ''}${ranksName(rangesOf(of))}`).join('; ');
}

// value gives a value of a quantity.
export function value(q: Pick<Quantity, 'unit'>, v: number): string {
  if (Number.isNaN(v)) return 'not known';
  return q.unit === 's' ? seconds(v) : q.unit === 'B' ? bytes(v) : count(v);
}

// lateText gives a late time, with its standard error where it is an estimate.
export function lateText(v: number, error: number): string {
  if (Number.isNaN(v)) return 'not known';
  return error > 0 ? `${seconds(v)} ± ${seconds(error)}` : seconds(v);
}

// rowsOf says what there is of a pair.
export function rowsOf(m: Model, i: number): [string, string][] {
  const [a, b] = [m.a[i]!, m.b[i]!];
  return [
    ['where', sameNode(m, a, b) ? 'within one node' : 'between nodes'],
    ['messages', count(m.messages[i]!)],
    ['bytes', `${bytes(m.bytes[i]!)}, ${bytes(m.bytes[i]! / m.messages[i]!)} per message`],
    ['blocked', `${seconds(m.blocked[i]!)}, ${seconds(m.blocked[i]! / m.messages[i]!)} per message`],
    ['late sender', lateText(m.lateSender[i]!, m.lateSenderError[i]!)],
    ['late receiver', lateText(m.lateReceiver[i]!, m.lateReceiverError[i]!)],
    ['in sends', seconds(m.send[i]!)],
    ['longest message', seconds(m.longest[i]!)],
  ];
}

// lineText says what a transfer takes.
export function lineText(l: Line): string {
  const where = l.same_node ? 'Within nodes' : 'Between nodes';
  const seen = `${plural(l.messages, 'transfer')} that did not wait for ${l.messages === 1 ? 'its' : 'their'} receiver`;
  if (Number.isNaN(l.latency_seconds)) return `${where}: too few sizes or transfers for a line (${seen}).`;
  const spread = Number.isNaN(l.spread) ? '' : `, ${percent(l.spread)} off the line in the median`;
  const wide = Number.isNaN(l.bytes_per_second) ? 'whatever its size' : `and its size at ${bytes(l.bytes_per_second)}/s`;
  return `${where} a message takes ${l.at_most ? 'at most ' : ''}${ns(l.latency_seconds * 1e9)} ${wide} (${seen}${spread}).${l.does_not_follow_size ? ' Time does not follow size.' : ''}`;
}

const UNPLACED = 'placement: ';

// unplacedText says why there is no placement: the file says so where none was computed.
export function unplacedText(p: Pairs): string {
  if (p.nodes.length < 2) return 'All ranks were on one node: no message goes between nodes. As if there were several: moriens pairs DIR --ranks-per-node N.';
  const said = p.why.find((text) => text.startsWith(UNPLACED));
  return said === undefined ? 'No advice: ranks exchange nothing that could go between nodes.' : sentence(said.slice(UNPLACED.length));
}

// sentence makes one of words that begin and end as the file has them.
export const sentence = (text: string) => (text === '' ? '' : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`);
