// What measuring has taken, in a sentence: of directories of earlier versions only what the agents have used is known.
import { bytes, ns, percent, plural, seconds } from '../format';
import { total } from './groups';
import type { Manifest } from './manifest';

// What killed processes used in the end is not known.
const time = (s: number, least: boolean) => (Number.isFinite(s) ? `${least ? 'at least ' : ''}${seconds(s)}` : 'an unknown amount');

// overheadOf takes the manifest and how long all ranks ran together, in seconds.
export function overheadOf(m: Manifest, ranksSeconds: number): string {
  const memory = m.agents.length > 0 ? `; each agent at most ${bytes(Math.max(...m.agents.map((a) => a.peak_bytes)))} of memory` : '';
  const share = (s: number) => (ranksSeconds > 0 && Number.isFinite(s) ? ` (${percent(s / ranksSeconds)} of the ranks’ time)` : '');
  const o = m.overhead;
  if (!o) {
    const cpu = total(m.agents.map((a) => (Number.isFinite(a.cpu_seconds) ? a.cpu_seconds : 0)));
    return m.agents.length > 0 ? `${plural(m.agents.length, 'agent')} used ${seconds(cpu)} of processor time${share(cpu)}${memory}.` : '';
  }
  const collector = `${o.shared ? 'collector and agent in one process' : 'collector'} ${time(o.collector_seconds, m.losses.collector_restarts > 0)}`;
  const cut = m.losses.agents_unfinished.length > 0 || m.agents.some((a) => a.restarts > 0);
  const agents = o.agent_seconds === 0 ? '' : `agents ${time(o.agent_seconds, cut)}, `;
  const each = Number.isFinite(o.ns_per_call) ? `; ${ns(o.ns_per_call)} per MPI call` : '';
  return `Processor time: ${agents}${collector}${share(o.agent_seconds + o.collector_seconds)}${each}${memory}.`;
}
