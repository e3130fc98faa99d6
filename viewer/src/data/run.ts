// What a run is called, and what there is to say when it holds nothing.
import type { Pack } from './pack';

// runName is the program that ran, or the trace; else the run's id.
export function runName(pack: Pack): string {
  const m = pack.json.manifest;
  if (!m) return pack.json.mode === 'live' ? 'a run in progress' : 'a run without manifest.json';
  if (m.trace) return base(m.trace);
  const programs = [...new Set(m.worlds.map((w) => base(w.executable)).filter(Boolean))];
  if (programs.length > 0) return programs.join(' + ');
  return base(m.command[0] ?? '') || m.run || 'a run';
}

export function base(path: string): string {
  return path.replace(/\/+$/, '').replace(/^.*\//, '');
}
