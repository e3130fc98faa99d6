import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 16, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);
const hash = (page: Page) => page.evaluate(() => location.hash);

interface Heat {
  clusters: number[];
  groups: number;
  most: number;
  relative: boolean;
  values: number[][];
}
const heat = (page: Page) => page.evaluate(() => window.__moriens?.drawn['heat']) as Promise<Heat | undefined>;
const extrema = (page: Page) => page.evaluate(() => window.__moriens?.drawn['extrema']) as Promise<{ criterion: string; order: string; first: number[]; median: number }>;

// pixel is the colour of the heat map in the middle of a cell.
const pixel = (page: Page, group: number, row: number) =>
  page.evaluate(
    ([g, r]) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.heat canvas');
      if (!canvas) return null;
      return [...(canvas.getContext('2d')?.getImageData(((g + 0.5) * canvas.width) / 16, ((r + 0.5) * canvas.height) / 5, 1, 1).data ?? [])];
    },
    [group, row] as const,
  );

test('shows classes, and ranks unlike theirs with the reason', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=ranks');
  const main = page.locator('main');
  expect(await main.innerText()).toContain('spends 31 % more in cluster 2 than its class');
  await page.locator('.outliers').getByRole('button', { name: `rank ${run.slowRank}` }).click();
  await expect.poll(() => hash(page)).toContain(`threads=${run.slowRank}`);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('the heat map has the time of each rank in each cluster, and the slow one stands out', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=ranks&probe=1');
  await expect.poll(() => heat(page)).toMatchObject({ clusters: [1, 2, 3, 4, -1], groups: 16, relative: true });
  const h = (await heat(page)) as Heat;
  h.clusters.forEach((id, row) => {
    const sum = h.values[row]?.reduce((a, b) => a + b, 0) ?? 0;
    expect(sum).toBeCloseTo(run.seconds[id === -1 ? 0 : id] ?? 0, 9);
  });
  const slow = (await pixel(page, run.slowRank, 1)) as number[];
  expect(slow[0]).toBeGreaterThan((slow[2] ?? 0) + 60); // the colour of more
  const box = await page.locator('.heat canvas').boundingBox();
  if (!box) throw new Error('no heat map');
  await page.mouse.click(box.x + (box.width * (run.slowRank + 0.5)) / 16, box.y + box.height * 0.3);
  await expect.poll(() => hash(page)).toContain(`cluster=2&threads=${run.slowRank}`);
  await page.locator('main').getByRole('button', { name: 'against the median' }).click();
  await expect.poll(() => heat(page)).toMatchObject({ relative: false });
  expect(errors).toEqual([]);
  await close();
});

test('the heat map goes by keys', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=ranks&probe=1');
  await expect.poll(() => heat(page)).toBeTruthy();
  await page.locator('.heat canvas').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await expect.poll(() => hash(page)).toContain('cluster=2&threads=2');
  expect(errors).toEqual([]);
  await close();
});

test('finds the extremes by a criterion of the user', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=ranks&probe=1&criterion=cluster2&order=most');
  await expect.poll(() => extrema(page)).toMatchObject({ criterion: 'cluster2', order: 'most' });
  expect((await extrema(page)).first[0]).toBe(run.slowRank);
  // Of 16 the lesser of the two in the middle, as in the reasons why ranks are unlike their class.
  await expect.poll(() => heat(page)).toBeTruthy();
  const seconds = ((await heat(page))?.values[1] ?? []).toSorted((a, b) => a - b);
  expect(seconds[7]).toBeLessThan(seconds[8] ?? NaN);
  expect((await extrema(page)).median).toBe(seconds[7]);
  await page.getByLabel('Criterion').selectOption('different');
  await expect.poll(() => extrema(page)).toMatchObject({ criterion: 'different' });
  expect((await extrema(page)).first[0]).toBe(run.slowRank);
  // Who computes most waits least.
  await page.getByLabel('Criterion').selectOption('mpi');
  await page.getByLabel('Order').selectOption('least');
  await expect.poll(() => extrema(page)).toMatchObject({ criterion: 'mpi', order: 'least' });
  expect((await extrema(page)).first[0]).toBe(run.slowRank);
  await page.locator('.extrema').getByRole('button', { name: `rank ${run.slowRank}` }).click();
  await expect.poll(() => hash(page)).toContain(`threads=${run.slowRank}`);
  expect(errors).toEqual([]);
  await close();
});

test('the time profile adds up, and selects a stretch of time', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=ranks&probe=1');
  await expect.poll(() => page.evaluate(() => window.__moriens?.drawn['profile'])).toBeTruthy();
  const series = (await page.evaluate(() => window.__moriens?.drawn['profile'])) as { name: string; colour: string; seconds: number }[];
  expect(series.map((s) => s.name)).toEqual(['cluster 1', 'cluster 2', 'cluster 3', 'cluster 4', 'noise', 'MPI']);
  series.slice(0, 4).forEach((s, i) => {
    expect(s.seconds).toBeCloseTo(run.seconds[i + 1] ?? 0, 3);
    expect(s.colour).toBe(COLOURS[i]);
  });
  const plot = page.locator('.profile-box svg');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (!box) throw new Error('no profile');
  await page.mouse.move(box.x + 200, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => hash(page)).toMatch(/from=\d+&to=\d+/);
  expect(errors).toEqual([]);
  await close();
});

test('more ranks than pixels lose none', async () => {
  const many = synthetic({ ranks: 3000, iterations: 6, clusters: 2 });
  const { page, errors, close } = await open(browser, report(many.bytes), 'view=ranks&probe=1');
  await expect.poll(() => heat(page)).toMatchObject({ groups: 3000 });
  const found = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.heat canvas');
    const row = canvas?.getContext('2d')?.getImageData(0, Math.round(canvas.height * 0.5), canvas.width, 1).data ?? [];
    let hot = 0;
    for (let i = 0; i < row.length; i += 4) if ((row[i] ?? 0) > (row[i + 2] ?? 0) + 60) hot++;
    return hot;
  });
  expect(found).toBeGreaterThan(0);
  expect(errors).toEqual([]);
  await close();
});
