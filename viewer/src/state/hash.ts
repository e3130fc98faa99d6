// The page's state as the part of its address behind "#": a link shows others the same.
import { printRanges, parseRanges, type Range } from './ranges';

export interface Selection {
  readonly clusters: readonly number[] | null; // ids; -1 noise, -2 filtered, -3 missing data; null = all
  readonly threads: readonly Range[] | null; // numbers of threads in the order world, rank, thread; null = all
  readonly fromNS: number | null;
  readonly toNS: number | null;
  readonly level: number | null; // step of the refinement that colours follow, from 1; null = the answer
  readonly line: number | null; // of the program, by its number there: its bursts and calls; null = all
}

export interface State {
  readonly view: string;
  readonly selection: Selection;
  readonly params: ReadonlyMap<string, string>; // what the views keep: axes, order of a table
}

export const NOTHING: Selection = { clusters: null, threads: null, fromNS: null, toNS: null, level: null, line: null };

const OWN = new Set(['view', 'cluster', 'threads', 'from', 'to', 'level', 'line']);

export function printState({ view, selection, params }: State): string {
  const said = new URLSearchParams();
  if (view) said.set('view', view);
  if (selection.clusters) said.set('cluster', selection.clusters.join(','));
  if (selection.threads) said.set('threads', printRanges(selection.threads));
  if (selection.fromNS !== null) said.set('from', `${selection.fromNS}`);
  if (selection.toNS !== null) said.set('to', `${selection.toNS}`);
  if (selection.level !== null) said.set('level', `${selection.level}`);
  if (selection.line !== null) said.set('line', `${selection.line}`);
  for (const [name, value] of params) said.set(name, value);
  return said.toString().replaceAll('%2C', ',');
}

export function parseState(hash: string): State {
  const said = new URLSearchParams(hash.replace(/^#/, ''));
  const params = new Map<string, string>();
  for (const [name, value] of said) if (!OWN.has(name)) params.set(name, value);
  const from = finite(said.get('from'));
  const to = finite(said.get('to'));
  const [level, line] = [said.get('level'), said.get('line')].map((text) => {
    const n = finite(text);
    return n !== null && Number.isInteger(n) && n > 0 ? n : null;
  });
  const swapped = from !== null && to !== null && to < from;
  return {
    view: said.get('view') ?? '',
    selection: {
      clusters: parseIDs(said.get('cluster')),
      threads: parseRanges(said.get('threads') ?? '?'),
      fromNS: swapped ? to : from,
      toNS: swapped ? from : to,
      level: level ?? null,
      line: line ?? null,
    },
    params,
  };
}

function parseIDs(said: string | null): number[] | null {
  if (said === null || !/^-?\d{1,9}(,-?\d{1,9})*$/.test(said)) return null;
  return [...new Set(said.split(',').map(Number))];
}

function finite(said: string | null): number | null {
  if (said === null || said.trim() === '') return null;
  const n = Number(said);
  return Number.isFinite(n) ? n : null;
}
