// What is known of a line, in words and figures, and on what evidence.
import type { Pack } from '../data/pack';
import { pathName, ranksName } from '../data/names';
import type { Node } from '../data/program';
import { bytes, cluster, count, ns, percent, plural, quantity, ratio } from '../format';
import { rangesOf } from '../state/ranges';
import { ranksOf, type Line, type Model } from './model';

export interface Facts {
  readonly rows: readonly (readonly [label: string, value: string])[];
  readonly says: readonly string[];
}

const EVIDENCE: Readonly<Record<string, Readonly<Record<'loop' | 'if', string>>>> = {
  code: { loop: 'Evidence: the machine code has this loop; its trips were counted.', if: 'Evidence: the machine code can leave this out; the rule holds for every call of the run.' },
  order: { loop: 'Evidence: the order of lines. The machine code is not known: it may be a condition instead.', if: 'Evidence: the order of lines; the rule holds for every call of the run.' },
  sequence: { loop: 'Evidence: calls repeat like that. The code may be another.', if: 'Evidence: calls happen, or do not, like that; the rule holds for every call of the run.' },
};

const bytesOf = (n: Node) => (n.bytes ? (n.bytes.least === n.bytes.most ? bytes(n.bytes.least) : `${bytes(n.bytes.least)} to ${bytes(n.bytes.most)}, mean ${bytes(n.bytes.mean)}`) : 'not known');

// few lists some, and says how many there are more.
const few = (list: readonly string[], most: number) => (list.length > most ? `${list.slice(0, most).join(', ')}, and ${count(list.length - most)} more` : list.join(', '));

export function factsOf(pack: Pack, m: Model, l: Line): Facts {
  const n = l.node;
  const rows: [string, string][] = [];
  const says: string[] = [];
  const total = m.computeNS + m.mpiNS;
  const ranks = ranksOf(m, l.at);
  const put = (label: string, value: string, when = true) => {
    if (when) rows.push([label, value]);
  };
  put('in', `${n.file}${n.line > 0 ? `:${n.line}` : ''}`, n.file !== '');
  put('time of all ranks', `${ns(l.computeNS + l.mpiNS)}, ${percent((l.computeNS + l.mpiNS) / total)}`, l.computeNS + l.mpiNS > 0);
  put('of it in MPI', `${ns(l.mpiNS)}, ${percent(l.mpiNS / (l.computeNS + l.mpiNS))}`, l.mpiNS > 0 && n.kind !== 'mpi');
  switch (n.kind) {
    case 'loop':
      if (n.trips) {
        const t = n.trips;
        put('trips', t.least === t.most ? `${count(t.least)} each time` : `${count(t.least)} to ${count(t.most)}, mean ${ratio(t.mean)}`);
        put('quartiles', t.quartiles.map(ratio).join(', '), t.quartiles.length > 0);
        put('entered', `${plural(t.entries, 'time')}, ${plural(t.total, 'trip')} in all`);
        put('time of a trip', ns((l.computeNS + l.mpiNS) / t.total), t.total > 0);
        if (t.at_least) says.push('At least: another trip may have begun where trips of a loop in it, or of a function that it calls, are taken to go on.');
        if (t.at_most) says.push('At most: some of these trips may belong to another entry.');
        if (t.likely) says.push('Likely: another trip may have begun where calls are taken to go on; with these trips what happens in them is regular.');
        if (t.with_calls) says.push('A trip can make no MPI call: such trips are not seen, and not counted.');
        if (t.kind === 'by rank') says.push('Each rank has a number of trips of its own.');
        if (t.kind === 'varies') says.push('No rule was found for the number of trips.');
        if (t.kind === 'cycle') says.push('The numbers of trips come in turn, each time that the loop is entered.');
        if (t.kind === 'linear') says.push('The number of trips grows with that of a loop round it, or with the rank.');
      }
      put('explains', `${percent(n.explains)} of the elapsed time`, n.explains > 0);
      if (n.stands_for > 1) says.push(`${count(n.stands_for)} loops directly round each other make the same calls in the same order as one.`);
      if (n.unrolled > 1) says.push(`The compiler has made ${count(n.unrolled)} copies of the body, which are shown once.`);
      break;
    case 'if':
      put('happened', `${count(n.happened)} of ${plural(n.of, 'time')}`, n.of > 0);
      if (n.when?.kind === 'unknown') says.push('When this runs follows from neither rank nor trip: no rule holds for all of the run.');
      else if (n.when?.variable === 'depth') says.push('depth counts the calls of the function that are open, from 0: depth == 0 is the first one.');
      else if (n.when?.variable === 'n') says.push('n counts how often the lines round the condition were executed, from 0.');
      else if (n.when) says.push(`Trips count from 0: ${n.when.variable || 'i'} == 0 is the first one.`);
      break;
    case 'recursion':
      put('calls', count(n.count), n.count > 0);
      says.push('The function is open already: its lines are those of its first call.');
      break;
    case 'mpi':
      put('calls', count(n.count));
      put('mean time of a call', ns(n.mpi_ns / n.count), n.count > 0);
      put('waiting for late senders', `${ns(n.late_ns)}, ${percent(n.late_ns / n.mpi_ns)}`, n.late_ns > 0);
      put('bytes a call', bytesOf(n), n.bytes !== null);
      for (const p of n.peers) put(p.way === 'to' ? 'sends to' : 'receives from', `${p.text}${p.kind === 'table' ? ' (no rule holds for all ranks)' : ''}`);
      put('root', count(n.root ?? 0), n.root !== null);
      put('communicator', n.communicator, n.communicator !== '');
      put('call paths', few(n.paths.map((p) => pathName(pack, p)).filter(Boolean), 3), m.joined && n.paths.length > 0);
      break;
    case 'compute':
      put('bursts', count(n.count));
      put('of all computing', percent(n.share), n.share > 0);
      put('mean of a burst', `${ns(n.mean_ns)} ± ${ns(n.std_ns)}`);
      put('clusters', few(n.clusters.map((c) => `${cluster(c.cluster)} ${percent(c.share)}`), 6), n.clusters.length > 0);
      for (const c of n.counters) put(`${c.name}, mean`, quantity(c.mean));
      put('between', few(n.around.map(([a, b]) => `${pathName(pack, a) || 'the begin'} and ${pathName(pack, b) || 'the end'}`), 2), m.joined && n.around.length > 0);
      break;
    case 'other':
      put('lines', count(n.lines), n.lines > 0);
      put('MPI calls', count(n.count), n.count > 0);
      says.push('These lines take too little time for this page: moriens structure DIR --all prints them.');
      break;
    default:
  }
  if (ranks) put('ranks', `${plural(ranks.length, 'rank')} of ${count(m.ranks)}: ${few(ranksName(rangesOf(ranks)).replace(/^ranks? /, '').split(', '), 8)}`);
  const why = n.kind === 'loop' || n.kind === 'if' ? EVIDENCE[n.by]?.[n.kind] : undefined;
  if (why && n.when?.kind !== 'unknown') says.push(why);
  else if (n.kind === 'if' && n.by && n.when?.kind === 'unknown') says.push(n.by === 'code' ? 'Evidence that it is a condition: the machine code can leave this out.' : 'Evidence that it is a condition: calls happen, or do not.');
  if (n.note) says.push(`Note: ${n.note}.`);
  return { rows, says };
}
