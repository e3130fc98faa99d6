import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadPack } from '../src/data/pack';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

interface Drawn {
  points: number;
  of: number;
  lit: number;
  x: { from: number; to: number };
  y: { from: number; to: number };
  colours: Record<string, string>;
}

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);
const columns = loadPack(run.bytes);

async function drawn(page: Page, good: (d: Drawn) => boolean = () => true): Promise<Drawn> {
  const read = async () => (await page.evaluate(() => window.__moriens?.drawn['space'])) as Drawn | undefined;
  await expect.poll(async () => { const d = await read(); return d !== undefined && good(d); }).toBe(true);
  return (await read())!;
}

const hash = (page: Page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());

// shades counts the pixels of each colour that the canvas shows, without those between two.
const shades = (page: Page) =>
  page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.space-plot > canvas');
    const copy = document.createElement('canvas');
    if (!canvas) return {};
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext('2d');
    context?.drawImage(canvas, 0, 0);
    const data = context?.getImageData(0, 0, copy.width, copy.height).data ?? [];
    const seen: Record<string, number> = {};
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3]! < 200) continue;
      const name = [0, 1, 2].map((k) => Math.round(data[i + k]! / 16)).join();
      seen[name] = (seen[name] ?? 0) + 1;
    }
    return seen;
  });

test('draws every burst where its values lie, in the colour of its cluster', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=space&probe=1');
  const d = await drawn(page);
  expect(d).toMatchObject({ points: run.points, of: run.points, lit: run.points });
  const instructions = Array.from(columns.column('points.counter.0'), Math.log);
  expect(d.x.from).toBeLessThan(Math.min(...instructions));
  expect(d.x.from).toBeGreaterThan(Math.min(...instructions) - 0.1 * (Math.max(...instructions) - Math.min(...instructions)));
  expect(d.x.to).toBeGreaterThan(Math.max(...instructions));
  COLOURS.slice(0, 4).forEach((colour, i) => expect(d.colours[i + 1]).toBe(colour));
  const seen = await shades(page);
  for (const colour of COLOURS.slice(0, 4)) {
    const name = [1, 3, 5].map((k) => Math.round(parseInt(colour.slice(k, k + 2), 16) / 16)).join();
    expect(seen[name] ?? 0, colour).toBeGreaterThan(500);
  }
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('takes any two dimensions, linear and logarithmic, and counts what has no place on them', async () => {
  const some = synthetic({ ranks: 4, iterations: 10, clusters: 3 });
  loadPack(some.bytes).column('points.counter.1').fill(0, 0, 7).fill(NaN, 7, 9);
  const { page, errors, close } = await open(browser, report(some.bytes), 'view=space&probe=1&x=start:lin&y=PAPI_TOT_CYC:log');
  expect(await drawn(page)).toMatchObject({ of: some.points - 9 });
  await page.getByText('9 have no place on these axes').waitFor();
  await page.getByLabel('Scale of PAPI_TOT_CYC').selectOption('lin');
  await drawn(page, (d) => d.of === some.points - 2);
  await page.getByLabel('Across').selectOption('IPC');
  const d = await drawn(page, (n) => n.x.to < 10);
  expect(d.x.from).toBeGreaterThan(0);
  await expect.poll(() => hash(page)).toContain('x=IPC%3Alin');
  await page.getByLabel('Bursts in no cluster').uncheck();
  await drawn(page, (n) => n.of === some.points - 2 - Math.floor(some.points / 50));
  expect(errors).toEqual([]);
  await close();
});

test('catches bursts in a lasso and makes them the selection', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=space&probe=1');
  const d = await drawn(page);
  const box = await page.locator('.space-plot > canvas').boundingBox();
  if (!box) throw new Error('no points');
  // Round cluster 1, by where its bursts lie.
  const of = (name: string, log: boolean) => Array.from(columns.column(name)).filter((_, i) => columns.column('points.cluster')[i] === 1).map((v) => (log ? Math.log(v) : v));
  const px = (v: number) => box.x + (box.width * (v - d.x.from)) / (d.x.to - d.x.from);
  const py = (v: number) => box.y + (box.height * (d.y.to - v)) / (d.y.to - d.y.from);
  const [xs, ys] = [of('points.counter.0', true).map(px), of('points.ratio.0', false).map(py)];
  const [left, right, top, bottom] = [Math.min(...xs) - 8, Math.max(...xs) + 8, Math.min(...ys) - 8, Math.max(...ys) + 8];
  await page.mouse.move(left, top);
  await page.mouse.down();
  for (const [x, y] of [[right, top], [right, bottom], [left, bottom], [left, top]] as const) await page.mouse.move(x, y, { steps: 3 });
  await page.mouse.up();
  const inside = Array.from(columns.column('points.duration')).filter((_, i) => {
    const [x, y] = [px(Math.log(columns.column('points.counter.0')[i] ?? 0)), py(columns.column('points.ratio.0')[i] ?? 0)];
    return x > left && x < right && y > top && y < bottom;
  }).length;
  await page.getByText(`Inside: ${inside} bursts`).waitFor();
  expect((await drawn(page, (n) => n.lit < run.points)).lit).toBe(inside);
  expect(await page.locator('.caught tbody tr').first().innerText()).toContain('cluster 1');
  await page.getByRole('button', { name: 'Select its clusters' }).click();
  await expect.poll(() => hash(page)).toMatch(/cluster=1(,|&|$)/);
  await accessible(page);
  await page.keyboard.press('Escape'); // the lasso first, then the selection
  await page.locator('.caught').waitFor({ state: 'detached' });
  await expect.poll(() => hash(page)).toMatch(/cluster=1/);
  await page.keyboard.press('Escape');
  expect((await drawn(page, (n) => n.lit === run.points)).lit).toBe(run.points);
  expect(errors).toEqual([]);
  await close();
});

test('follows the selection, and a click selects a cluster', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=space&probe=1&cluster=2');
  expect((await drawn(page)).lit).toBe(run.bursts[2]);
  await page.getByRole('button', { name: 'cluster 3', exact: true }).click();
  expect((await drawn(page, (d) => d.lit === run.bursts[3])).lit).toBe(run.bursts[3]);
  await expect.poll(() => hash(page)).toContain('cluster=3');
  await page.evaluate(() => (location.hash = 'view=space&threads=0-1&from=0&to=1'));
  expect((await drawn(page, (d) => d.lit === 2)).lit).toBe(2);
  expect(errors).toEqual([]);
  await close();
});

test('zooms by wheel and keys, and a link shows the same', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=space&probe=1');
  const whole = await drawn(page);
  const box = await page.locator('.space-plot > canvas').boundingBox();
  if (!box) throw new Error('no points');
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 4);
  await page.mouse.wheel(0, -300);
  const near = await drawn(page, (d) => d.x.to - d.x.from < (whole.x.to - whole.x.from) * 0.6);
  expect(near.y.to - near.y.from).toBeLessThan((whole.y.to - whole.y.from) * 0.6);
  await page.mouse.move(box.x + box.width / 4, box.y + box.height + 20); // over the lower axis: that one alone
  await page.mouse.wheel(0, -300);
  const narrow = await drawn(page, (d) => d.x.to - d.x.from < (near.x.to - near.x.from) * 0.6);
  expect(narrow.y).toEqual(near.y);
  await expect.poll(async () => new URLSearchParams(await hash(page)).get('in')).toBe([narrow.x.from, narrow.x.to, narrow.y.from, narrow.y.to].join('~'));
  const other = await open(browser, html(), await hash(page));
  const same = await drawn(other.page);
  expect(same.x).toEqual(narrow.x);
  expect(same.y).toEqual(narrow.y);
  await other.close();
  await page.keyboard.press('0');
  expect((await drawn(page, (d) => d.x.from === whole.x.from)).y).toEqual(whole.y);
  expect(errors).toEqual([]);
  await close();
});

test('says so where there is nothing to draw, or nothing to draw with', async () => {
  const empty = synthetic({ ranks: 2, iterations: 1, clusters: 2, page: { points: { count: 0, of: 0, how: '' } } });
  const none = await open(browser, report(empty.bytes), 'view=space');
  expect(await none.page.locator('main').innerText()).toContain('no bursts');
  await none.close();
  const html2 = html().replace('<head>', '<head><script>HTMLCanvasElement.prototype.getContext = () => null</script>');
  const bare = await open(browser, html2, 'view=space');
  await bare.page.getByText('WebGL 2').waitFor();
  expect([...none.errors, ...bare.errors]).toEqual([]);
  await bare.close();
});
