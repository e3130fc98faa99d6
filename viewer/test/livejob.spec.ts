// A real job, watched from its first bursts to its end.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './browser';
import { env, MORIENS, ROOT } from './real';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = promisify(execFile);

interface Drawn {
  bins: number;
  series: { name: string; colour: string; seconds: number }[];
}
const drawn = (page: Page) => page.evaluate(() => window.__moriens?.drawn['live']) as Promise<Drawn | undefined>;

test('the live page follows a real job to its end, and colours stay with their clusters', async () => {
  const work = mkdtempSync(join(tmpdir(), 'viewer-live-'));
  const dir = join(work, 'run');
  const app = join(work, 'halo');
  await run('mpicc.openmpi', ['-O2', '-o', app, join(ROOT, 'testdata/miniapp/halo.c'), '-lm'], { env });
  // It ends when the page has been seen, however long that takes.
  const over = join(work, 'over');
  const untilOver = ['sh', '-c', '"$@"; status=$?; until [ -e "$0" ]; do sleep 0.1; done; exit $status', over];
  const halo = ['mpirun.openmpi', '--oversubscribe', '-n', '2', app, '-i', '600', '-r', '1024'];
  const job = spawn(MORIENS, ['run', '--http', '127.0.0.1:0', '--out', dir, '--', ...untilOver, ...halo], { env, stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => job.on('exit', resolve));
  const address = async () => (await run(MORIENS, ['status', dir, '--url'], { env })).stdout.trim();
  await expect.poll(() => address().catch(() => '')).toContain('token=');

  // The certificate is the run's own.
  const context = await browser.newContext({ viewport: { width: 1366, height: 768 }, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (e) => errors.push(String(e)));
  await page.goto(`${await address()}#view=live&probe=1`);
  await expect.poll(async () => (await drawn(page))?.series.length ?? 0).toBeGreaterThan(1);
  // What measuring takes, in figures.
  for (const row of await page.locator('.meters tr').allInnerTexts()) expect(row).toMatch(/\d[.\d]*\s?(% of a core|[nµm]s|[KMG]?i?B)/);
  expect(await page.locator('.meters tr').count()).toBe(5);
  const colours = new Map((await drawn(page))?.series.map((s) => [s.name, s.colour]));
  writeFileSync(over, '');
  await expect.poll(() => page.locator('.live-end').innerText().catch(() => '')).toContain(`The results are in ${dir}`);
  expect(await ended).toBe(0);

  const last = (await drawn(page)) as Drawn;
  for (const s of last.series) if (colours.has(s.name)) expect(s.colour).toBe(colours.get(s.name));
  // The page's sums are the computing time and the time in MPI of the run, except for data received after the last
  // poll.
  const manifest = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as { computing_seconds: number; bursts: number };
  const computing = last.series.filter((s) => s.name !== 'MPI').reduce((sum, s) => sum + s.seconds, 0);
  expect(computing / manifest.computing_seconds).toBeGreaterThan(0.9);
  expect(computing / manifest.computing_seconds).toBeLessThan(1.01);
  expect(await page.locator('.stages').innerText()).toContain('write');
  expect(errors).toEqual([]);
  await context.close();
  rmSync(work, { recursive: true, force: true });
});
