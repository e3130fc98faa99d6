// The page of a real run, as moriens writes and serves it.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { bytes, count, percent } from '../src/format';
import { accessible, launch, openAt } from './browser';
import { measureHalo, serve, type RealRun } from './real';

// Every burst has a place on these axes: no logarithm, no counter that a rank may lack.
const HASH = 'probe=1&x=start:lin&y=duration:lin';

let browser: Browser;
let run: RealRun;
beforeAll(async () => {
  browser = await launch();
  run = await measureHalo(3, ['-i', '60']);
});
afterAll(async () => {
  run.remove();
  await browser.close();
});

interface Manifest {
  readonly bursts: number;
  readonly ranks: number;
  readonly kept: { bursts: number; sampled_bursts: number };
  readonly files: { name: string }[];
}
interface Clusters {
  readonly clusters: { id: number; colour: string; bursts: number; seconds: number; share: number }[];
  readonly total: { noise_bursts: number; filtered_bursts: number; missing_bursts: number };
}

// shows compares what the page says and draws with the files of the run.
async function shows(page: Page): Promise<void> {
  const m = run.read('manifest.json') as Manifest;
  const c = run.read('clusters.json') as Clusters;
  await page.keyboard.press('1');
  const facts = new Map(
    await page.locator('.facts dl > div').evaluateAll((rows) => rows.map((r) => [r.querySelector('dt')?.textContent, r.querySelector('dd')?.textContent] as const)),
  );
  expect(['Ranks', 'Bursts', 'Clusters'].map((name) => facts.get(name))).toEqual([m.ranks, m.bursts, c.clusters.length].map(count));
  const bar = await page.locator('.timebar rect').evaluateAll((rects) => rects.map((r) => [Number(r.getAttribute('data-part')), r.getAttribute('fill')]));
  expect(bar.filter(([id]) => Number(id) > 0)).toEqual(c.clusters.map((k) => [k.id, k.colour]));

  await page.keyboard.press('2');
  const drawn = () => page.evaluate(() => (window as unknown as { __moriens?: { drawn: { space?: { of: number } } } }).__moriens?.drawn.space?.of);
  await expect.poll(drawn).toBe(m.kept.bursts + m.kept.sampled_bursts);

  await page.keyboard.press('9');
  const names = await page.locator('.files tbody tr td:first-child').allInnerTexts();
  expect(names).toEqual([...m.files.map((f) => f.name), 'manifest.json']);
  const sizes = await page.locator('.files tbody tr td:nth-child(2)').allInnerTexts();
  expect(sizes).toEqual(names.map((name) => (name === 'report.html' ? '–' : bytes(statSync(join(run.dir, name)).size))));
}

test('report.html works from disk with the network off, in every view', async () => {
  const { page, errors, close } = await openAt(browser, `file://${join(run.dir, 'report.html')}#${HASH}`, { offline: true });
  await shows(page);
  for (const button of await page.locator('nav button').all()) {
    await button.click();
    await page.waitForTimeout(300);
    await accessible(page);
  }
  expect(errors).toEqual([]);
  await close();
});

test('a report.html that is cut off says so', async () => {
  const whole = readFileSync(join(run.dir, 'report.html'), 'utf8');
  const file = join(run.dir, 'cut.html');
  for (const part of [0.3, 0.6, 0.95]) {
    writeFileSync(file, whole.slice(0, part * whole.length));
    const page = await browser.newPage();
    await page.goto(`file://${file}`);
    expect(await page.locator('body').innerText()).toContain('the page is cut off: copy the file again');
    await page.close();
  }
});

test('what stands out is what clusters.json says', async () => {
  const { page, errors, close } = await openAt(browser, `file://${join(run.dir, 'report.html')}`, { offline: true });
  const [first] = (run.read('clusters.json') as Clusters).clusters;
  expect(first).toBeDefined();
  if (first) expect(await page.locator('.findings').innerText()).toContain(`Cluster ${first.id} takes ${percent(first.share)} of the computing time: ${count(first.bursts)} burst`);
  expect(errors).toEqual([]);
  await close();
});

test('moriens view serves the same to who has the token, and takes it out of the address', async () => {
  const served = await serve(run.dir);
  onTestFinished(served.stop);
  const { page, errors, close } = await openAt(browser, `${served.address}#${HASH}`);
  expect(page.url()).not.toContain('token');
  await shows(page);
  await page.reload();
  await page.waitForSelector('header');
  expect(page.url()).not.toContain('token');
  expect(errors).toEqual([]);
  await close();
  for (const path of ['/', '/pack', '/?token=guessed']) expect((await fetch(new URL(path, served.address))).status).toBe(401);
});
