import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadPack } from '../src/data/pack';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

interface Drawn {
  pixels: Record<string, number>;
  colours: Record<string, string>;
  clusters: number[];
  lines: number;
  each: number;
  rows: { from: number; to: number };
  time: { from: number; to: number };
  width: number;
  messages: number;
  bursts: number;
}

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);
const endNS = 20 * run.iterationNS;

// drawn waits for a picture for which `good` holds.
async function drawn(page: Page, good: (d: Drawn) => boolean = () => true): Promise<Drawn> {
  return expect
    .poll(async () => {
      const d = (await page.evaluate(() => window.__moriens?.drawn['timeline'])) as Drawn | undefined;
      return d && good(d) ? d : null;
    })
    .not.toBeNull()
    .then(async () => (await page.evaluate(() => window.__moriens?.drawn['timeline'])) as Drawn);
}

const hash = (page: Page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());

test('draws each cluster in its colour, for as long as it takes', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=timeline&probe=1');
  const d = await drawn(page);
  expect(d.time).toEqual({ from: 0, to: endNS });
  expect(d.rows).toEqual({ from: 0, to: 8 });
  expect(d.clusters).toEqual([1, 2, 3, 4]);
  const pixelNS = endNS / d.width;
  run.seconds.forEach((seconds, id) => {
    const code = id === 0 ? 2 : 5 + id;
    if (id > 0) expect(d.colours[code]).toBe(COLOURS[id - 1]);
    // An edge of a burst falls on a pixel that has more of something else: half a pixel each, at most.
    expect(Math.abs((d.pixels[code] ?? 0) * pixelNS - seconds * 1e9)).toBeLessThan(pixelNS * (run.bursts[id] ?? 0) * 0.5 + 1);
  });
  expect(Object.values(d.pixels).reduce((a, b) => a + b)).toBe(d.width * 8);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('shows on the screen what it says it has drawn', async () => {
  const { page, errors, close } = await open(browser, html(), `view=timeline&probe=1&messages=no&zoom=0~${run.iterationNS}`);
  await drawn(page);
  // The middle of the first burst of rank 6, which is of cluster 1.
  const colour = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.timeline-plot > canvas:nth-of-type(2)');
    if (!canvas) return null;
    const context = canvas.getContext('2d');
    return [...(context?.getImageData(Math.round(canvas.width * 0.05), Math.round((canvas.height * 6.4) / 8), 1, 1).data ?? [])];
  });
  expect(colour).toEqual([0, 0x72, 0xb2, 255]);
  // Behind the last burst only the overview shows MPI: its grey, paler.
  await page.evaluate(([from, to]) => (location.hash = `view=timeline&messages=no&zoom=${from}~${to}`), [endNS - run.iterationNS, endNS] as const);
  await drawn(page, (d) => d.time.to === endNS);
  const last = await page.evaluate(() => {
    const canvas = document.querySelectorAll<HTMLCanvasElement>('.timeline-plot > canvas')[1];
    return [...(canvas?.getContext('2d')?.getImageData(canvas.width - 3, Math.round((canvas.height * 6.4) / 8), 1, 1).data ?? [])];
  });
  expect(last).toEqual([243, 243, 243, 255]);
  expect(errors).toEqual([]);
  await close();
});

test('zooms by wheel and keys, moves, and keeps it in the address', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=timeline&probe=1');
  const box = await page.locator('.timeline-plot').boundingBox();
  if (!box) throw new Error('no timeline');
  await drawn(page);
  await page.mouse.move(box.x + box.width / 2, box.y + 300);
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -200);
  const near = await drawn(page, (d) => d.time.to - d.time.from < endNS / 9);
  const middle = endNS * ((box.width / 2 - 84) / (box.width - 96));
  expect(near.time.from).toBeLessThan(middle);
  expect(near.time.to).toBeGreaterThan(middle);
  await page.keyboard.press('d');
  const right = await drawn(page, (d) => d.time.from > near.time.from);
  expect(right.time.to - right.time.from).toBeCloseTo(near.time.to - near.time.from, 0);
  await expect.poll(async () => new URLSearchParams(await hash(page)).get('zoom')).toBe(`${right.time.from}~${right.time.to}`);
  const address = await hash(page);
  const other = await open(browser, html(), address);
  expect((await drawn(other.page)).time).toEqual(right.time);
  await other.close();
  await page.keyboard.press('0');
  expect((await drawn(page, (d) => d.time.to === endNS && d.time.from === 0)).time).toEqual({ from: 0, to: endNS });
  await page.keyboard.press('W');
  await drawn(page, (d) => d.rows.to - d.rows.from < 8);
  expect(errors).toEqual([]);
  await close();
});

test('selects by dragging, clicking and keys', async () => {
  const { page, errors, close } = await open(browser, html(), 'view=timeline&probe=1&messages=no');
  const box = await page.locator('.timeline-plot').boundingBox();
  const threads = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
  if (!box || !threads) throw new Error('no timeline');
  const y = (rank: number) => threads.y + (threads.height * (rank + 0.5)) / 8;
  const x = (part: number) => threads.x + threads.width * part;
  await page.mouse.move(x(0.25), y(2));
  await page.mouse.down();
  await page.mouse.move(x(0.5), y(3), { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => hash(page)).toContain('threads=2-3');
  const said = new URLSearchParams(await hash(page));
  expect(Math.abs(Number(said.get('from')) - endNS / 4)).toBeLessThan(endNS / 500);
  expect(Math.abs(Number(said.get('to')) - endNS / 2)).toBeLessThan(endNS / 500);
  await page.keyboard.press('Escape');
  await expect.poll(() => hash(page)).not.toContain('threads=');
  // The first burst of a rank is of cluster 1.
  await page.mouse.click(x(0.005), y(6));
  await expect.poll(() => hash(page)).toContain('cluster=1');
  await page.keyboard.press('Escape');
  // From the burst that was clicked two to the right and one down.
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'Enter', 'r']) await page.keyboard.press(key);
  await expect.poll(() => hash(page)).toContain('cluster=3&threads=7');
  expect(await page.locator('.said-at').innerText()).toMatch(/^cluster 3 · rank 7, duration/);
  expect(errors).toEqual([]);
  await close();
});

test('draws messages where they are few, and says how many there are where not', async () => {
  const few = await open(browser, html(), 'view=timeline&probe=1');
  expect(await drawn(few.page)).toMatchObject({ messages: 4 * 2 * 4, lines: 4 * 2 * 4 });
  await few.close();
  const busy = synthetic({ ranks: 64, iterations: 4, clusters: 4, detailRanks: 64 });
  const many = await open(browser, report(busy.bytes), 'view=timeline&probe=1');
  expect(await drawn(many.page)).toMatchObject({ messages: 512, lines: 0 });
  await many.page.getByText('512 messages here').waitFor();
  await many.page.keyboard.press('m');
  await drawn(many.page, (d) => d.messages === 0);
  expect([...few.errors, ...many.errors]).toEqual([]);
  await many.close();
});

test('says what lies under the pointer', async () => {
  const { page, errors, close } = await open(browser, html(), `view=timeline&probe=1&zoom=0~${run.iterationNS}`);
  const threads = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
  if (!threads) throw new Error('no timeline');
  await page.mouse.move(threads.x + threads.width * 0.1, threads.y + (threads.height * 3.4) / 8);
  const tip = page.locator('.tip');
  await tip.waitFor();
  expect(await tip.innerText()).toMatch(/cluster 1 · rank 3[\s\S]*duration[\s\S]*ms/);
  // Behind the burst the rank is in MPI, and its calls are kept.
  await page.mouse.move(threads.x + threads.width * 0.36, threads.y + (threads.height * 3.4) / 8);
  await expect.poll(() => tip.innerText()).toMatch(/MPI_(Send|Wait) · rank 3/);
  expect(errors).toEqual([]);
  await close();
});

test('draws 10,000 ranks from the overview', async () => {
  const wide = synthetic({ ranks: 10_000, iterations: 3, clusters: 2, detailRanks: 2 });
  const { page, errors, close } = await open(browser, report(wide.bytes), 'view=timeline&probe=1');
  const d = await drawn(page);
  expect(d.rows).toEqual({ from: 0, to: 10_000 });
  expect(d.each).toBeGreaterThan(1);
  expect(d.clusters).toEqual([1, 2]);
  await page.keyboard.press('W');
  await drawn(page, (n) => n.rows.to - n.rows.from < 9_000);
  expect(errors).toEqual([]);
  await close();
});

test('hatches what is missing', async () => {
  const lost = synthetic({ ranks: 4, iterations: 4, clusters: 2, page: { points: { count: 0, of: 32, how: 'none' } } });
  const pack = loadPack(lost.bytes);
  pack.column('overview.cell').fill(4, 0, 100); // half of the first rank's row
  pack.column('points.thread').fill(-1);
  pack.column('calls.thread').fill(-1);
  const { page, errors, close } = await open(browser, report(lost.bytes), 'view=timeline&probe=1&messages=no');
  const d = await drawn(page);
  expect(d.pixels[4]).toBe(Math.round(d.width / 2));
  const shades = await page.evaluate(() => {
    const canvas = document.querySelectorAll<HTMLCanvasElement>('.timeline-plot > canvas')[1];
    const data = canvas?.getContext('2d')?.getImageData(20, 10, 40, 20).data ?? [];
    return new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3).join())).size;
  });
  expect(shades).toBeGreaterThan(3); // lines on a ground, not one colour
  expect(errors).toEqual([]);
  await close();
});

test('says so where there is nothing to draw', async () => {
  const empty = synthetic({ ranks: 1, iterations: 1, clusters: 2, page: { threads: 0, overview: null, points: { count: 0, of: 0, how: '' } } });
  const { page, errors, close } = await open(browser, report(empty.bytes), 'view=timeline');
  expect(await page.locator('main').innerText()).toContain('no bursts');
  expect(errors).toEqual([]);
  await close();
});
