import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, launch, open, report } from './browser';
import { synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);
const order = (page: Page) => page.locator('table.sortable tbody tr').evaluateAll((rows) => rows.map((r) => Number((r as HTMLElement).dataset['cluster'])));
const hash = (page: Page) => page.evaluate(() => location.hash);

interface Histogram {
  quantity: string;
  log: boolean;
  clusters: number[];
  bursts: number[];
  span: { from: number; to: number };
}
const histogram = (page: Page) => page.evaluate(() => window.__moriens?.drawn['histogram']) as Promise<Histogram | undefined>;

test('lists every cluster with its figures, and what is in none last', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters');
  expect(await order(page)).toEqual([1, 2, 3, 4, -1]);
  const cells = await page.locator('tr[data-cluster="2"] td').allInnerTexts();
  expect(cells[6]?.replaceAll(',', '')).toBe(`${run.bursts[2]}`);
  expect(cells[0]).toContain('ms');
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('sorts by any column, both ways, and keeps that in the address', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters');
  await page.getByRole('button', { name: 'Score' }).click();
  expect(await order(page)).toEqual([4, 3, 2, 1, -1]);
  await page.getByRole('button', { name: 'Score' }).click();
  expect(await order(page)).toEqual([1, 2, 3, 4, -1]);
  expect(await page.locator('th[aria-sort=ascending]').innerText()).toContain('Score');
  await expect.poll(() => hash(page)).toContain('sort=score');
  const other = await open(browser, html(), (await hash(page)).slice(1));
  expect(await order(other.page)).toEqual([1, 2, 3, 4, -1]);
  expect(await other.page.locator('th[aria-sort=ascending]').innerText()).toContain('Score');
  await other.close();
  expect(errors).toEqual([]);
  await close();
});

test('sorts by what is lost, within the stretch that is chosen, and a dash says why', async () => {
  const lost = (id: number, ranks: number, seconds: number | null) => ({ id, ranks, share: 0.1, load_balance: 0.5, lost_seconds: seconds, most: { world: 0, rank: id, thread: 0 }, ipc: 1, ipc_of_best: id === 1 ? null : 0.9 });
  const main = [lost(1, 8, 0.002), lost(2, 8, 0.03), lost(3, 5, null)];
  const planted = synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: { clusters: main, stretches: [{ within: 'loop', clusters: [lost(1, 8, 0.04), lost(4, 8, 0.001)] }] } });
  const { page, errors, close } = await open(browser, report(planted.bytes), 'view=clusters&sort=-lost');
  const cells = async (id: number) => (await page.locator(`tr[data-cluster="${id}"] td`).allInnerTexts()).slice(2, 6).map((s) => s.replace(/\s/g, ' '));
  const why = (id: number, cell: number) => page.locator(`tr[data-cluster="${id}"] td`).nth(cell).getAttribute('title');
  expect(await order(page)).toEqual([2, 1, 3, 4, -1]);
  expect(await cells(2)).toEqual(['30 ms', '50 %', 'rank 2', '90 %']);
  expect(await cells(3)).toEqual(['–', '50 %', 'rank 3', '90 %']);
  expect(await why(2, 2)).toBeNull();
  expect(await why(3, 2)).toMatch(/^only 5\sthreads of 8\sthreads compute it$/);
  expect(await why(1, 5)).toMatch(/PAPI_TOT_INS/);
  expect(await why(4, 3)).toBe('it has no burst within main');
  await page.locator('select.within').selectOption('loop');
  await expect.poll(() => order(page)).toEqual([1, 4, 2, 3, -1]);
  await expect.poll(() => hash(page)).toContain('within=loop');
  expect(await page.locator('th[aria-sort=descending]').innerText()).toContain('Lost');
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
  const none = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: null }).bytes), 'view=clusters');
  expect(await none.page.locator('table.sortable').innerText()).not.toContain('Balance');
  expect(none.errors).toEqual([]);
  await none.close();
});

test('shows the whole call paths of a cluster, and how many bursts have others', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters&cluster=1');
  const before = page.locator('.paths-pair > *').first();
  const total = run.bursts[1] ?? 0;
  const first = before.locator('li details').first();
  await first.locator('summary').click();
  expect((await first.innerText()).replace(/\s+/g, ' ')).toMatch(/^MPI_Send@halo\.c:51<caller_0 11 · .* exchange exchange\.c:51 caller_0 caller_0\.c:52 main main\.c:53$/);
  expect(await before.locator('p.note').count()).toBe(0);
  await before.getByRole('button', { name: 'All 10' }).click();
  expect(await before.locator('li details').count()).toBe(10);
  expect((await before.locator('p.note').innerText()).replace(/[\s,]+/g, ' ')).toContain(`${total - 65} bursts · `);
  await page.click('tr[data-cluster="2"] button');
  expect(await before.locator('summary code').allInnerTexts()).toEqual(['MPI_Send@halo.c:51']);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('has what a kind loses with the cluster that stands for it, and none with its variants', async () => {
  const loss = (id: number, seconds: number) => ({ id, ranks: 4, share: 0.1, load_balance: 0.5, lost_seconds: seconds, most: { world: 0, rank: id, thread: 0 }, ipc: 1, ipc_of_best: 0.9 });
  const efficiency = { clusters: [loss(1, 0.9), loss(3, 0.8), loss(2, 0.1)], kinds: [loss(2, 0.1), loss(1, 0.05)] };
  const { page, errors, close } = await open(browser, report(synthetic({ ranks: 4, iterations: 10, clusters: 3, kinds: true, efficiency }).bytes), 'view=clusters&sort=-lost');
  expect(await order(page)).toEqual([2, 1, 3, -1]);
  const cells = async (id: number) => (await page.locator(`tr[data-cluster="${id}"] td`).allInnerTexts()).slice(2, 6).map((s) => s.replace(/\s/g, ' '));
  expect(await cells(1)).toEqual(['50 ms', '50 %', 'rank 1', '90 %']);
  expect(await cells(3)).toEqual(['–', '–', '–', '90 %']);
  expect(await page.locator('tr[data-cluster="3"] td').nth(2).getAttribute('title')).toBe('a variant: what its kind loses includes it');
  expect(errors).toEqual([]);
  await close();
});

test('shows medians, cores and kinds where clusters were found by kinds', async () => {
  const kinds = synthetic({ ranks: 4, iterations: 10, clusters: 3, kinds: true });
  const { page, errors, close } = await open(browser, report(kinds.bytes), 'view=clusters');
  const heads = await page.locator('table.sortable th[scope=col]').allInnerTexts();
  expect(heads.map((h) => h.replace(/[↑↓]/g, '').trim())).toEqual(['Cluster', 'Time', 'Share', 'Lost', 'Balance', 'Most', 'IPC of best', 'Bursts', 'Median', 'Spread', 'Kind', 'Predicted', 'Score', 'Ends with']);
  const kind = (id: number) => page.locator(`tr[data-cluster="${id}"] td`).nth(9);
  expect(await kind(2).innerText()).toBe('2');
  expect(await kind(3).innerText()).toBe('1');
  expect(await kind(3).getAttribute('title')).toBe('in place of another by chance');
  expect(await page.locator('tr[data-cluster="2"] td').nth(10).innerText()).toMatch(/^97/);
  await page.click('tr[data-cluster="3"] button');
  expect(await page.locator('table.cluster-facts').innerText()).toContain('variant of cluster 1');
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('counts in the histogram each burst of the cluster, as often as it stands for', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters&cluster=3&probe=1');
  await expect.poll(() => histogram(page)).toMatchObject({ quantity: 'duration', log: true, clusters: [3], bursts: [run.bursts[3]] });
  const h = (await histogram(page)) as Histogram;
  // Cluster 3 lasts 2 ms / 3, give or take 5 %.
  expect(Math.exp(h.span.from)).toBeGreaterThan((2e6 / 3) * 0.949);
  expect(Math.exp(h.span.to)).toBeLessThan((2e6 / 3) * 1.051);
  await page.getByRole('button', { name: 'log' }).click();
  await expect.poll(() => histogram(page)).toMatchObject({ log: false });
  await page.locator('select:not(.within)').selectOption('IPC');
  await expect.poll(() => histogram(page)).toMatchObject({ quantity: 'IPC', bursts: [run.bursts[3]] });
  const ipc = (await histogram(page)) as Histogram;
  expect(ipc.span.from).toBeGreaterThanOrEqual(1.25 * 0.98 - 1e-9);
  expect(ipc.span.to).toBeLessThanOrEqual(1.25 * 1.02 + 1e-9);
  // Of one rank alone.
  await page.evaluate(() => (location.hash += '&threads=3'));
  await expect.poll(async () => (await histogram(page))?.bursts[0]).toBeLessThanOrEqual(20);
  expect(errors).toEqual([]);
  await close();
});

test('compares two clusters that are selected', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters&probe=1');
  await page.locator('tr[data-cluster="1"] button').click();
  await page.locator('tr[data-cluster="2"] button').click({ modifiers: ['Control'] });
  await expect.poll(() => hash(page)).toContain('cluster=1,2');
  expect(await page.getByRole('heading', { name: 'Cluster 1 and cluster 2' }).count()).toBe(1);
  const row = page.locator('table.cluster-facts tr', { hasText: 'MinPts' });
  expect(await row.locator('td').count()).toBe(3);
  const spread = await page.locator('table.cluster-facts tr', { hasText: 'duration, mean' }).locator('td').last().innerText();
  expect(spread).toMatch(/^(−(4|5)\d(\.\d)?\s%|× 0\.5)/); // 1 ms against 2 ms, one rank 31 % slower
  await expect.poll(() => histogram(page)).toMatchObject({ clusters: [1, 2], bursts: [run.bursts[1], run.bursts[2]] });
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('shows call paths with their frames, and bursts that lead to the timeline', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=clusters&cluster=2');
  await page.getByText('MPI_Send@halo.c:51').first().click();
  expect(await page.locator('.paths ol').first().innerText()).toContain('exchange halo.c:51');
  expect(await page.locator('.paths ol').first().locator('.inlined').allInnerTexts()).toEqual(['inlined in step step.h:12', 'inlined in main main.c:7']);
  const exemplars = page.locator('table.exemplars tbody tr');
  expect(await exemplars.locator('td:first-child').allInnerTexts()).toEqual(['typical', 'typical', 'typical', 'shortest', 'longest']);
  // The longest burst of cluster 2 is of the slow rank.
  expect(await exemplars.last().locator('td:nth-child(2)').innerText()).toBe(`rank ${run.slowRank}`);
  await exemplars.last().getByRole('button').click();
  await expect.poll(() => hash(page)).toMatch(new RegExp(`view=timeline.*threads=${run.slowRank}&from=\\d+&to=\\d+`));
  expect(errors).toEqual([]);
  await close();
});

test('says so where there are no clusters', async () => {
  const none = synthetic({ ranks: 2, iterations: 2, clusters: 2, page: { clusters: null } });
  for (const view of ['clusters', 'refinement', 'ranks']) {
    const { page, errors, close } = await open(browser, report(none.bytes), `view=${view}`);
    expect((await page.locator('main').innerText()).length).toBeGreaterThan(10);
    expect(errors).toEqual([]);
    await close();
  }
});
