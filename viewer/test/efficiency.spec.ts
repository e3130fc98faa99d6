// The factors on the overview, the iterations below it, and nodes and classes beside the ranks show what
// efficiency.json says.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { percent, seconds } from '../src/format';
import { accessible, launch, open, report } from './browser';
import { synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const sum = (of: readonly number[]) => of.reduce((a, b) => a + b, 0);
const computing = run.spent.map(sum);
const mean = sum(computing) / 8;
const most = Math.max(...computing);
const node = Math.max(sum(computing.slice(0, 4)), sum(computing.slice(4))) / 4;
const elapsed = (run.iterationNS * 20) / 1e9;

const panel = (page: Page, title: string) => page.locator('.panel', { has: page.getByRole('heading', { name: title, exact: true }) });
const factors = (page: Page) => page.locator('tr[data-factor]').evaluateAll((rows) => rows.map((r) => [...r.children].slice(0, 3).map((c) => c.textContent)));
const hash = (page: Page) => page.evaluate(() => location.hash);

test('each factor has its ratio and the time that it costs, as long as its bar', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes));
  const row = (name: string, ratio: number, lost: number) => [name, percent(ratio), seconds(lost)];
  expect(await factors(page)).toEqual([
    row('Parallel efficiency', mean / elapsed, elapsed - mean),
    row('Load balance', mean / most, most - mean),
    row('in nodes', node / most, most - node),
    row('between nodes', mean / node, node - mean),
    row('Communication', most / elapsed, elapsed - most),
    ['serialisation', '–', '–'],
    ['transfer', '–', '–'],
  ]);
  const bars = await page.locator('tr[data-factor]').evaluateAll((rows) =>
    rows.map((r) => {
      const [track, lost] = ['.track', '.lost'].map((name) => r.querySelector(`td.bar ${name}`)?.getBoundingClientRect());
      return track && lost ? [(lost.left - track.left) / track.width, lost.width / track.width] : null;
    }),
  );
  const want = [[mean, elapsed], [mean, most], [node, most], [mean, node], [most, elapsed]].map(([a = 0, b = 0]) => [a / elapsed, (b - a) / elapsed]);
  expect(bars.slice(5)).toEqual([null, null]);
  want.forEach((w, i) => w.forEach((v, k) => expect(bars[i]?.[k], `bar ${i}`).toBeCloseTo(v, 2)));
  expect(await page.locator('tr[data-factor=transfer]').getAttribute('title')).toMatch(/not known in this version/);

  const budget = (await page.locator('table.budget tbody tr').allInnerTexts()).map((s) => s.replace(/\s+/g, ' '));
  expect(budget).toHaveLength(5);
  expect(budget[4]).toContain(`8 ranks × ${seconds(elapsed)}`.replace(/\s/g, ' '));
  expect(await page.locator('.most').innerText()).toMatch(/^Most computing: rank 5, .* times the mean/);
  await page.locator('.most button').click();
  await expect.poll(() => hash(page)).toContain('view=ranks&threads=5');
  expect(errors).toEqual([]);
  await close();
});

test('another stretch can be chosen, and the address keeps it', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes));
  const note = () => panel(page, 'Efficiency').locator('.note').first().innerText();
  expect(await note()).toMatch(/^from the end of the last MPI_Init to the start of the first MPI_Finalize: 0\ss to /);
  expect(await page.locator('select.within option').allInnerTexts()).toEqual(['main', 'whole run', 'loop', 'phase 0']);
  await page.locator('select.within').selectOption('run');
  await expect.poll(async () => (await factors(page))[0]?.[1]).toBe(percent(mean / elapsed / 2));
  expect(await note()).toMatch(/^the whole run/);
  await expect.poll(() => hash(page)).toContain('within=run');
  await panel(page, 'Phases').getByRole('button', { name: 'phase 0' }).click();
  await expect.poll(note).toMatch(/^20\siterations/);
  expect(await page.locator('select.within').inputValue()).toBe('iterations:0');
  expect(await page.locator('.clusters-by-time td[title^="not known within phase 0"]').count()).toBe(4); // noise is in no cluster
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('says where to look, and leads there', async () => {
  const planted = (mean: number, most: number, inNodes: number) =>
    report(synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: { seconds: 10, mean_computing_seconds: mean, most_computing_seconds: most, load_balance_in_nodes: inNodes } }).bytes);
  const said = async (html: string) => {
    const { page, errors, close } = await open(browser, html);
    const text = (await page.locator('.next').innerText()).replace(/\s/g, ' ');
    await page.locator('.next button').first().click();
    await expect.poll(() => hash(page)).toContain('view=');
    expect(errors).toEqual([]);
    const at = await hash(page);
    await close();
    return [text, at];
  };
  expect(await said(planted(4, 9, 1))).toEqual([expect.stringMatching(/^Load imbalance costs most: 5 s, 50 % of T, mostly between nodes/), expect.stringMatching(/view=clusters.*sort=-lost/)]);
  expect((await said(planted(4, 9, 4 / 9)))[0]).toMatch(/mostly in nodes/);
  expect(await said(planted(4, 5, 0.9))).toEqual([expect.stringMatching(/^Communication costs most: 5 s, 50 % of T/), expect.stringContaining('view=ranks')]);
  expect((await said(planted(9.9, 9.95, 1)))[0]).toMatch(/^Little is lost/);
});

test('bounds are marked, and say why', async () => {
  const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: { bound: true, why: ['rank 3 is incomplete', 'the clock <b>stood</b>'] } }).bytes));
  expect((await factors(page)).map((r) => r[1]?.endsWith('*'))).toEqual([true, true, true, true, true, false, false]);
  expect(await page.locator('.bound').innerText()).toBe('* A bound, not the value: rank 3 is incomplete; the clock <b>stood</b>.');
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
  const exact = await open(browser, report(run.bytes));
  expect(await exact.page.locator('.bound').count()).toBe(0);
  await exact.close();
});

test('main threads and worlds have their own rows, in the stretch that they are of', async () => {
  const f = { seconds: 10, parallel_efficiency: 0.5, load_balance: 0.8, communication_efficiency: 0.625, mean_computing_seconds: 5, most_computing_seconds: 6.25 };
  const bytes = synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: { locations: 16, main_threads: f, worlds: [{ world: 0, ranks: 4, locations: 8, ...f }, { world: 1, ranks: 4, locations: 8, ...f, load_balance: null }] } }).bytes;
  const { page, errors, close } = await open(browser, report(bytes));
  const rows = (await page.locator('table.others tbody tr').allInnerTexts()).map((s) => s.replace(/\s+/g, ' '));
  expect(rows).toEqual(['main threads, which called MPI_Init 8 10 s 50 % 80 % 62.5 % 5 s', 'world 0 8 10 s 50 % 80 % 62.5 % 5 s', 'world 1 8 10 s 50 % – 62.5 % 5 s']);
  expect(await page.locator('tr.sum').innerText()).toMatch(/16\sthreads that called MPI/);
  await page.locator('select.within').selectOption('loop');
  await expect.poll(() => page.locator('table.others').count()).toBe(0);
  expect(errors).toEqual([]);
  await close();
});

test('a page without efficiency says so', async () => {
  const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: null }).bytes));
  expect(await panel(page, 'Efficiency').innerText()).toMatch(/Not known: the directory has no efficiency\.json/);
  expect(await page.getByRole('heading', { name: 'Phases' }).count()).toBe(0);
  expect(await page.locator('.clusters-by-time').innerText()).not.toContain('Lost');
  expect(errors).toEqual([]);
  await close();
});

test('iterations are drawn as long as they are; the worst has words and leads to its time', async () => {
  const iteration = (k: number, s: number, pe: number) => ({ phase: 0, iteration: k, seconds: s, parallel_efficiency: pe, load_balance: 0.9, communication_efficiency: pe / 0.9, skewed: k === 1 });
  const planted = synthetic({ ranks: 8, iterations: 20, clusters: 4, efficiency: { iterations: [iteration(0, 0.01, 0.8), iteration(1, 0.02, 0.45), iteration(2, 0.01, 0.7)] } });
  const { page, errors, close } = await open(browser, report(planted.bytes));
  const iterations = panel(page, 'Iterations');
  expect((await iterations.locator('.pm').innerText()).replace(/\s/g, ' ')).toMatch(/^Lowest parallel efficiency: iteration 1, 45 % of 20 ms \(load balance 90 %, communication 50 %\)/);
  const bars = await page.locator('.iterations path').evaluateAll((paths) => paths.map((p) => (p.getAttribute('d') ?? '').split('Z').filter(Boolean).map((s) => s.match(/-?[\d.]+/g)?.map(Number) ?? [])));
  const heights = bars.map((path) => path.map(([, from = 0, , to = 0]) => from - to)); // M x from H x V to H x
  const [before, balance, communication] = heights;
  expect(heights.map((h) => h.length)).toEqual([3, 3, 3]);
  const all = [0, 1, 2].map((k) => (before?.[k] ?? 0) + (balance?.[k] ?? 0) + (communication?.[k] ?? 0));
  expect((all[1] ?? 0) / (all[0] ?? 1)).toBeCloseTo(2, 1);
  expect((before?.[1] ?? 0) / (all[1] ?? 1)).toBeCloseTo(0.45, 1);
  expect((communication?.[1] ?? 0) / (all[1] ?? 1)).toBeCloseTo(0.5, 1);
  await page.locator('.iterations svg').hover();
  expect((await page.locator('.tip').innerText()).replace(/\s/g, ' ')).toMatch(/iteration 1.*20 ms.*45 %.*skewed/);
  await accessible(page);
  await iterations.getByRole('button', { name: 'Timeline' }).click();
  await expect.poll(() => hash(page)).toMatch(/view=timeline&from=10000000&to=30000000/);
  expect(errors).toEqual([]);
  await close();
});

test('nodes and classes are beside the ranks', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=ranks');
  const rows = (await panel(page, 'Nodes and classes').locator('tbody tr').allInnerTexts()).map((s) => s.replace(/\s+/g, ' ').split(' ').slice(0, 2).join(' '));
  expect(rows).toEqual(['n2 4', 'n1 4', 'like rank']); // the slow rank is on n2
  await page.locator('select.within').selectOption('iterations:0');
  await expect.poll(() => panel(page, 'Nodes and classes').innerText()).toMatch(/A phase has no figures of nodes and classes/);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});
