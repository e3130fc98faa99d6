// What is not in the result, by cause, in words.
import { bytes, count, plural } from '../format';
import type { Manifest } from './manifest';
import { ranksName } from './names';
import { rangesOf } from '../state/ranges';

export function lossesOf(m: Manifest): string[] {
  const l = m.losses;
  const said: string[] = [];
  const add = (n: number, one: string, many: string) => {
    if (n > 0) said.push(`${count(n)} ${n === 1 ? one : many}`);
  };
  const record = m.phases.length + m.events.length > 0 ? 'MPI call or mark' : 'MPI call';
  add(l.records_dropped, `${record} was dropped: its ring buffer was full`, `${record.replace('call', 'calls').replace('mark', 'marks')} were dropped: their ring buffers were full`);
  add(l.spool_full_dropped, 'of these was dropped while the spool was full', 'of these were dropped while the spool was full');
  add(l.records_unkept, 'MPI call or mark was left in the ring buffers: the spool was full', 'MPI calls and marks were left in the ring buffers: the spool was full');
  add(l.files_unreadable, 'file with records could not be read', 'files with records could not be read');
  add(l.calls_abandoned, 'MPI call was left by longjmp or an exception', 'MPI calls were left by longjmp or an exception');
  if (m.trace) add(l.ranks_missing, 'rank has no record in the trace', 'ranks have no record in the trace');
  else add(l.ranks_missing - l.ranks_unrecorded, 'rank sent nothing', 'ranks sent nothing');
  add(l.ranks_unrecorded, 'rank could not record', 'ranks could not record');
  add(l.threads_unrecorded, 'thread could not record', 'threads could not record');
  add(l.calls_unrecorded, 'MPI call of such threads', 'MPI calls of such threads');
  add(l.call_paths_lost, 'call path has no name: the table was full', 'call paths have no names: the table was full');
  add(l.communicators_lost, 'communicator is not known: the table was full', 'communicators are not known: the table was full');
  add(l.marks_nameless, 'mark lost its name: the table was full', 'marks lost their names: the table was full');
  add(l.marks_inside_calls, 'mark was set inside an MPI call', 'marks were set inside MPI calls');
  add(l.phase_ends_unmatched, 'end of a phase without a begin', 'ends of phases without a begin');
  add(l.phases_unfinished, 'phase has no end', 'phases have no end');
  add(l.phases_too_deep, 'phase lies in 256 or more others and is part of the innermost of the first 256', 'phases lie in 256 or more others and are part of the innermost of the first 256');
  add(l.windows_evicted, 'window of full detail was evicted on its node, for lack of space', 'windows of full detail were evicted on their nodes, for lack of space');
  add(l.transfers_lost, 'transfer of a kept MPI call is not known: its node did not send it', 'transfers of kept MPI calls are not known: their nodes did not send them');
  add(l.messages_refused, 'message of an agent was malformed and refused', 'messages of agents were malformed and refused');
  add(l.lines_skipped, 'malformed line of the trace was skipped', 'malformed lines of the trace were skipped');
  add(l.figures_damaged, 'count of losses was damaged: the notes say which', 'counts of losses were damaged: the notes say which');
  if (l.hidden_by_tools.length > 0) said.push(`MPI calls that another tool made without calling moriens are missing: ${l.hidden_by_tools.join(', ')}`);
  if (l.journal_bytes_cut > 0) said.push(`${bytes(l.journal_bytes_cut)} of an unfinished journal were cut off; agents sent them again`);
  if (l.counters_unavailable.length > 0) said.push(`not measured on some rank: ${l.counters_unavailable.join(', ')}`);
  if (l.agents_unfinished.length > 0) said.push(`${plural(l.agents_unfinished.length, 'agent')} did not finish, on ${l.agents_unfinished.join(', ')}`);
  said.push(...died(m));
  const q = m.messages.requests;
  add(q.ends_unknown, 'completion of an unknown request', 'completions of unknown requests');
  add(q.starts_unknown, 'start of an unknown request', 'starts of unknown requests');
  add(q.unfollowed, 'request was not tracked: too many were pending at once', 'requests were not tracked: too many were pending at once');
  add(q.lost, 'request was given up: its completion may not have been recorded', 'requests were given up: their completions may not have been recorded');
  add(q.late, 'event of a request was read too late for ordering', 'events of requests were read too late for ordering');
  add(q.open, 'request was never completed', 'requests were never completed');
  for (const u of m.messages.unmatched) {
    if (u.sends + u.receives > 0) said.push(`${plural(u.sends, 'send')} and ${plural(u.receives, 'receive')} have no counterpart: ${u.why}`);
  }
  return said;
}

const UNFINISHED = 'ended without MPI_Finalize';
const RANGES = 8; // beyond, ranks are counted rather than named

// died reports the ranks that died. Those of one world with one reason are reported together: when a node fails, all
// its ranks die.
function died(m: Manifest): string[] {
  const groups = new Map<string, { world: number; how: string; cut_off: boolean; ranks: number[] }>();
  for (const { rank, ...death } of m.losses.ranks_died) {
    const key = JSON.stringify(death);
    const group = groups.get(key) ?? { ...death, ranks: [] };
    group.ranks.push(rank);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ world, how, cut_off: cutOff, ranks }) => {
    const ranges = rangesOf(ranks);
    const who = ranges.length > RANGES ? plural(ranks.length, 'rank') : ranksName(ranges);
    const why = how && how !== UNFINISHED ? ` (${how})` : '';
    const lacks = cutOff ? `; what ${ranks.length === 1 ? 'it' : 'they'} did last is missing` : '';
    return `${m.worlds.length > 1 ? `world ${world} ` : ''}${who} ${UNFINISHED}${why}${lacks}`;
  });
}
