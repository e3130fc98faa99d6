// A run of 10,000 simulated ranks, from moriens' own files to the picture: what report.html has of all of them, and
// what moriens view adds where it is zoomed.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadPack, type Pack } from '../src/data/pack';
import { launch, openAt } from './browser';
import { ROOT, serve } from './real';
import { overlap, tablesOf, type Tables } from './tables';

const RANKS = 10_000;

interface Drawn {
  pixels: Record<string, number>; // by code: 1 MPI, 2 noise, 3 filtered, 5 + id a cluster
  each: number; // threads of a line
  rows: { from: number; to: number };
  time: { from: number; to: number };
  width: number;
  height: number;
  bins: { time: { from: number; to: number }; bins: number; rows: number } | null;
}

let browser: Browser;
let work: string;
let dir: string;
let tables: Tables;
beforeAll(async () => {
  browser = await launch();
  work = mkdtempSync(join(tmpdir(), 'viewer-many-'));
  dir = join(work, 'run');
  await promisify(execFile)('go', ['run', './bench/end', '-one', '-all', '-ranks', `${RANKS}`, '-bursts', '200000', '-dir', dir], { cwd: ROOT });
  tables = await tablesOf(dir);
});
afterAll(async () => {
  rmSync(work, { recursive: true, force: true });
  await browser.close();
});

const read = async (page: Page) => (await page.evaluate(() => window.__moriens?.drawn['timeline'])) as Drawn | undefined;

async function drawn(page: Page, good: (d: Drawn) => boolean): Promise<Drawn> {
  let d: Drawn | undefined;
  await expect.poll(async () => (d = await read(page)) !== undefined && good(d)).toBe(true);
  if (!d) throw new Error('nothing is drawn');
  return d;
}

const linesOf = (d: Drawn) => Math.ceil((d.rows.to - d.rows.from) / d.each);

function packOf(html: string): Pack {
  const text = /<script type="text\/plain" id="pack">([^<]*)</.exec(html)?.[1] ?? '';
  return loadPack(gunzipSync(Buffer.from(text, 'base64')));
}

// shown is how many pixels have a code; waits are in MPI.
const shown = (d: Drawn, code: number) => Object.entries(d.pixels).reduce((sum, [c, n]) => sum + (Number(c) === code || (code === 1 && Number(c) > 0x20000000) ? n : 0), 0);

// spent is the time, ns, that some ranks have in each code of a stretch of time, by the files of the run.
function spent(ranks: { from: number; to: number }, time: { from: number; to: number }): Map<number, number> {
  const of = new Map<number, number>();
  const add = (rank: number, code: number, from: number, to: number) => {
    const ns = rank >= ranks.from && rank < ranks.to ? overlap(from, to, time) : 0;
    if (ns > 0) of.set(code, (of.get(code) ?? 0) + ns);
  };
  for (const c of tables.calls) add(c.rank, 1, c.enterNS, c.exitNS);
  for (const b of tables.bursts) add(b.rank, b.cluster > 0 ? 5 + b.cluster : b.cluster === -1 ? 2 : 3, b.startNS, b.startNS + b.durationNS);
  return of;
}

test('report.html has rows for all 10,000 ranks, at the resolution that it states', async () => {
  const file = join(dir, 'report.html');
  const pack = packOf(readFileSync(file, 'utf8'));
  const overview = pack.json.overview;
  if (!overview) throw new Error('no overview');
  expect(pack.json.threads).toBe(RANKS);
  expect(overview.rows).toEqual(Array.from({ length: 1000 }, (_, i) => [10 * i, 10 * i + 9]));
  const { page, errors, close } = await openAt(browser, `file://${file}#view=timeline&probe=1`, { offline: true });
  const d = await drawn(page, (n) => n.width > 0);
  expect(await page.locator('.resolution').innerText()).toContain('A row of the timeline stands for 10 threads.');
  expect(d.rows).toEqual({ from: 0, to: RANKS });
  // Of the picture each cluster has the part that it has of the ranks' time.
  const all = spent({ from: 0, to: RANKS }, d.time);
  const total = RANKS * (d.time.to - d.time.from);
  for (const [code, ns] of all) expect(Math.abs(shown(d, code) / (d.width * linesOf(d)) - ns / total), `code ${code}`).toBeLessThan(0.01);
  // A hundred ranks are ten rows, each of them shown for all of its ranks.
  await page.evaluate(() => (location.hash = 'view=timeline&rows=9900~10000'));
  const last = await drawn(page, (n) => n.rows.from === 9900);
  expect(last.bins).toBeNull(); // no server for it
  expect(Object.values(last.pixels).reduce((a, b) => a + b) / last.width).toBeGreaterThan(99);
  expect(errors).toEqual([]);
  await close();
});

test('moriens view makes bins of what its page does not hold, rank by rank and pixel by pixel', async () => {
  const served = await serve(dir, '--most', '30000'); // of 470,000 bursts and calls
  onTestFinished(served.stop);
  const { page, errors, close } = await openAt(browser, `${served.address}#view=timeline&probe=1`);
  const whole = await drawn(page, (n) => n.width > 0);
  const end = whole.time.to;
  const time = { from: Math.round(0.55 * end), to: Math.round(0.75 * end) }; // behind the beginning that the page holds
  const rows = { from: 4000, to: 4040 };
  await page.evaluate((hash) => (location.hash = hash), `view=timeline&zoom=${time.from}~${time.to}&rows=${rows.from}~${rows.to}`);
  const d = await drawn(page, (n) => n.bins !== null && n.bins.rows === 40 && n.time.from === time.from);
  expect(d.bins?.time).toEqual(time);
  expect(d.bins?.bins).toBe(d.width);
  expect(linesOf(d)).toBe(40);
  const pixelNS = (time.to - time.from) / d.width;
  const codes = spent(rows, time);
  expect([...codes.keys()].filter((code) => code > 5).length).toBeGreaterThan(1);
  for (const [code, ns] of codes) {
    // Along a row a code is short of its time by less than two pixels, or has as much too much (error diffusion).
    expect(Math.abs(shown(d, code) - ns / pixelNS), `code ${code}`).toBeLessThanOrEqual(40 * 2);
  }
  // What lies there, by its bin: a pointer over the middle of a burst names the burst's cluster.
  const burst = tables.bursts.find((b) => b.rank > rows.from && b.rank < rows.to && b.cluster > 0 && b.startNS > time.from && b.startNS + b.durationNS < time.to);
  if (!burst) throw new Error('no burst');
  const box = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
  if (!box) throw new Error('no canvas');
  const x = box.x + (box.width * (burst.startNS + burst.durationNS / 2 - time.from)) / (time.to - time.from);
  await page.mouse.move(x, box.y + (box.height * (burst.rank - rows.from + 0.5)) / 40);
  await expect.poll(() => page.locator('.tip').innerText()).toMatch(new RegExp(`cluster ${burst.cluster} · rank ${burst.rank}`));
  expect(await page.locator('.tip').innerText()).not.toContain('only kept windows');
  expect(errors).toEqual([]);
  await close();
});

test('a server that has left is missed in words, and the page goes on with what it holds', async () => {
  const served = await serve(dir, '--most', '30000');
  const { page, close } = await openAt(browser, `${served.address}#view=timeline&probe=1`);
  await drawn(page, (n) => n.width > 0);
  await served.stop();
  await page.evaluate(() => (location.hash = 'view=timeline&rows=4000~4040'));
  await expect.poll(() => page.locator('.said-at').innerText()).toContain('Shown coarser than it could be: The server no longer answers.');
  expect(linesOf(await drawn(page, (n) => n.rows.from === 4000))).toBe(40);
  await close();
});
