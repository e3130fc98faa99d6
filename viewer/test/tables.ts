// The tables of a run directory, as moriens export writes them: what pages are compared with.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MORIENS } from './real';

const run = promisify(execFile);

export interface Burst {
  readonly rank: number;
  readonly startNS: number;
  readonly durationNS: number;
  readonly cluster: number;
  readonly weight: number;
  readonly nodes: string;
}

export interface Call {
  readonly rank: number;
  readonly enterNS: number;
  readonly exitNS: number;
  readonly waitNS: number; // of the call's begin
}

export interface Tables {
  readonly bursts: readonly Burst[];
  readonly calls: readonly Call[];
}

export async function tablesOf(dir: string): Promise<Tables> {
  const out = mkdtempSync(join(tmpdir(), 'viewer-tables-'));
  await run(MORIENS, ['export', dir, '--format', 'csv', '--out', join(out, 't')]);
  const read = (name: string) => {
    const [head = [], ...rows] = parse(readFileSync(join(out, 't', name), 'utf8'));
    return rows.map((row) => (column: string) => row[head.indexOf(column)] ?? '');
  };
  const bursts = read('bursts.csv').map((of) => ({
    rank: Number(of('rank')), startNS: Number(of('start_ns')), durationNS: Number(of('duration_ns')), cluster: Number(of('cluster')), weight: Number(of('weight')), nodes: of('nodes'),
  }));
  const calls = read('calls.csv').map((of) => ({ rank: Number(of('rank')), enterNS: Number(of('enter_ns')), exitNS: Number(of('exit_ns')), waitNS: Number(of('wait_ns') || 0) }));
  rmSync(out, { recursive: true, force: true });
  return { bursts, calls };
}

// parse reads RFC 4180.
function parse(text: string): string[][] {
  return text.trimEnd().split('\n').map((line) => {
    if (!line.includes('"')) return line.split(',');
    return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
  });
}

// overlap is how long a stretch of time lies within another.
export const overlap = (from: number, to: number, within: { from: number; to: number }) => Math.max(0, Math.min(to, within.to) - Math.max(from, within.from));
