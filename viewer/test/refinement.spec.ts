import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeAt } from '../src/data/lineage';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);
const total = run.seconds.reduce((a, b) => a + b);

interface Drawn {
  step: number | null;
  nodes: { id: number; share: number; colour: string }[][];
  flows: { step: number; from: number; to: number; bursts: number }[];
}
const drawn = (page: Page) => page.evaluate(() => window.__moriens?.drawn['refinement']) as Promise<Drawn>;
const profile = (page: Page) => page.evaluate(() => window.__moriens?.drawn['profile']) as Promise<{ name: string; colour: string; seconds: number }[]>;

test('reads which node held a burst at each step', () => {
  expect([1, 2, 3, 6, 7, 10].map((step) => nodeAt('0 3:12 7:4', step))).toEqual([0, 0, 12, 12, 4, 4]);
  expect(nodeAt('5', 9)).toBe(5);
  expect(nodeAt('', 1)).toBe(0);
  expect(nodeAt('<script>', 1)).toBeNaN();
});

test('draws nodes as wide as their time, and where their bursts go', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=refinement&probe=1');
  const d = await drawn(page);
  expect(d.nodes[0]?.map((n) => n.id).sort()).toEqual([0, 1, 2, 3, 4]);
  expect(d.nodes[0]?.at(-1)?.id).toBe(0);
  for (const n of d.nodes[0] ?? []) {
    expect(n.share).toBeCloseTo((run.seconds[n.id] ?? 0) / total, 9);
    if (n.id > 0) expect(n.colour).toBe(COLOURS[n.id - 1]);
  }
  // Step 2 joins 2, 3 and 4, and keeps the colour of the one with most time.
  expect(d.nodes[1]?.find((n) => n.id === 2)?.colour).toBe(COLOURS[1]);
  expect(d.flows.map((f) => [f.from, f.to, f.bursts]).sort()).toEqual([
    [0, 0, run.bursts[0]],
    [1, 1, run.bursts[1]],
    [2, 2, run.bursts[2]],
    [3, 2, run.bursts[3]],
    [4, 2, run.bursts[4]],
  ]);
  // The step and the table of its nodes count the same.
  expect(await page.getByRole('radio', { name: /Step 1/ }).innerText()).toContain('· 4 nodes ·');
  expect(await page.locator('.panel', { hasText: 'Nodes of step' }).last().innerText()).toMatch(/^Nodes of step 1\s+4 nodes by time, and noise/);
  expect(await page.locator('.nodes tbody tr').count()).toBe(5);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('a step that is chosen colours the other views, and is in the address', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=refinement&probe=1');
  await page.getByRole('radio', { name: /Step 2/ }).click();
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('level=2');
  await expect.poll(() => page.getByRole('heading', { name: 'Nodes of step 2' }).count()).toBe(1);
  await page.keyboard.press('6');
  await expect.poll(async () => ((await profile(page)) as unknown[] | undefined)?.length).toBe(4);
  const series = await profile(page);
  expect(series.map((s) => s.name)).toEqual(['node 1', 'node 2', 'noise', 'MPI']);
  const joined = (run.seconds[2] ?? 0) + (run.seconds[3] ?? 0) + (run.seconds[4] ?? 0);
  expect(series[1]?.seconds).toBeCloseTo(joined, 3);
  expect(series[1]?.colour).toBe(COLOURS[1]);
  await page.keyboard.press('Escape');
  await expect.poll(async () => (await profile(page)).map((s) => s.name)).toEqual(['cluster 1', 'cluster 2', 'cluster 3', 'cluster 4', 'noise', 'MPI']);
  expect(errors).toEqual([]);
  await close();
});

test('steps are walked with the arrow keys', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=refinement&probe=1&level=1');
  await page.getByRole('radio', { name: /Step 1/ }).focus();
  await page.keyboard.press('ArrowDown');
  await expect.poll(async () => (await drawn(page)).step).toBe(2);
  expect(await page.getByRole('radio', { name: /Step 2/ }).getAttribute('aria-checked')).toBe('true');
  await page.keyboard.press('ArrowDown'); // there is none below
  expect((await drawn(page)).step).toBe(2);
  expect(errors).toEqual([]);
  await close();
});

test('says between which calls the bursts of a node are, where those are clustered apart', async () => {
  const json = structuredClone(run.json) as { clusters: { by: string; groups: { before: number; after: number }[]; call_paths: { name: string }[] } };
  const { clusters } = json;
  clusters.by = 'calls';
  const [group] = clusters.groups;
  if (group) [group.before, group.after] = [0, 1];
  const calls = synthetic({ ranks: 2, iterations: 5, clusters: 4, page: { clusters } });
  const { page, errors, close } = await open(browser, report(calls.bytes), 'view=refinement');
  expect(await page.locator('.nodes tbody tr').first().innerText()).toContain(`${clusters.call_paths[0]?.name ?? '?'} … ${clusters.call_paths[1]?.name ?? '?'}`);
  expect(await page.locator('.nodes tbody tr').last().innerText()).not.toContain('…'); // noise is of every group
  expect(errors).toEqual([]);
  await close();
});

test('a directory that does not say which node held a burst keeps the answer', async () => {
  const old = synthetic({ ranks: 2, iterations: 5, clusters: 3, page: { nodes: [] } });
  const { page, errors, close } = await open(browser, report(old.bytes), 'view=refinement&probe=1');
  expect(await page.locator('main').innerText()).toContain('does not say which node held each burst');
  expect(await page.getByRole('radio', { name: /Step 1/ }).getAttribute('aria-disabled')).toBe('true');
  expect(errors).toEqual([]);
  await close();
});
