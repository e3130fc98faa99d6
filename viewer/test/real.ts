// A real job, measured: the halo exchange of the mini-apps under moriens run.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const ROOT = new URL('../..', import.meta.url).pathname;
export const MORIENS = join(ROOT, 'bin/moriens');
const run = promisify(execFile);

export const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };

export interface RealRun {
  readonly dir: string;
  readonly read: (name: string) => unknown; // of a JSON file
  readonly remove: () => void;
}

// measureHalo runs it with options of its own, under moriens run with some of its.
export function measureHalo(ranks: number, options: string[], measured: string[] = []): Promise<RealRun> {
  return measureProgram(async (work) => {
    const app = join(work, 'halo');
    await run('mpicc.openmpi', ['-O2', '-o', app, join(ROOT, 'testdata/miniapp/halo.c'), '-lm'], { env });
    return ['mpirun.openmpi', '--oversubscribe', '-n', `${ranks}`, app, ...options];
  }, measured);
}

// measureProgram builds a program in a folder, which is kept until the run is removed, and runs it by the command that
// build returns.
export async function measureProgram(build: (work: string) => Promise<string[]>, measured: string[] = []): Promise<RealRun> {
  const work = mkdtempSync(join(tmpdir(), 'viewer-run-'));
  const dir = join(work, 'run');
  const command = await build(work);
  await run(MORIENS, ['run', '--out', dir, ...measured, '--', ...command], { env });
  return {
    dir,
    read: (name) => JSON.parse(readFileSync(join(dir, name), 'utf8')) as unknown,
    remove: () => rmSync(work, { recursive: true, force: true }),
  };
}

export interface Served {
  readonly address: string;
  readonly stop: () => Promise<void>;
}

// serve is moriens view, without a browser of its own.
export function serve(dir: string, ...options: string[]): Promise<Served> {
  const view = spawn(MORIENS, ['view', dir, '--no-browser', ...options], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => view.on('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let said = '';
    view.on('error', reject);
    view.on('exit', () => reject(new Error(`moriens view ended after it said: ${said}`)));
    view.stdout.on('data', (text: Buffer) => {
      said += text.toString();
      const address = /http:\S+/.exec(said)?.[0];
      if (!address || !said.includes('\n')) return;
      resolve({
        address,
        stop: () => {
          view.kill('SIGTERM');
          return ended;
        },
      });
    });
  });
}
