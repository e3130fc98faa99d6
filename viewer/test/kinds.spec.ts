import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readClusters } from '../src/data/clusters';
import { loadPack } from '../src/data/pack';
import { kinshipOf } from '../src/refinement/kinship';
import { arcsOf, densityOf, partsOf, readable, stripsOf, type Part } from '../src/space/density';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

interface Json {
  clusters: { clusters: Record<string, unknown>[]; refinement: Record<string, unknown> };
}

// Cluster 4 is a variant of 1, whose colour it has; each cluster has a basin of its own, but for 3, which has one of
// another stratum.
function found() {
  const shape = { ranks: 8, iterations: 20, clusters: 4, kinds: true };
  const { clusters } = structuredClone(synthetic(shape).json) as unknown as Json;
  clusters.clusters.forEach((c, i) => {
    const variant = i === 3;
    Object.assign(c, { colour: variant ? COLOURS[0] : c['colour'], told_by: variant ? 'chance' : 'order', told_from: variant || i === 1 ? 1 : 2, why: variant ? 'variant of 1: predicted to 12 %' : `apart from ${i === 1 ? 1 : 2}: predicted to 97 %` });
  });
  const ins = clusters.clusters.map((c) => (c['counters'] as { mean: number }[])[0]?.mean ?? NaN);
  Object.assign(clusters.refinement, {
    rules: 'kinds',
    basins: ins.map((v, i) => ({ group: 0, stratum: i === 2 ? 2 : 1, bursts: 100 * (i + 1), eps: i === 2 ? 0 : 0.0565, valley: i === 2 ? null : 0.25, clusters: [i + 1], from: [0.9 * v, 0.1], to: [1.1 * v, 9] })),
    joins: [
      { round: 1, from: 0, to: 2, bursts: 7, foretold: 0, why: 'variant of 2: predicted to 0 %' },
      { round: 2, from: 4, to: 1, bursts: 400, foretold: 0.12, why: 'variant of 1: predicted to 12 %' },
    ],
  });
  return { clusters, run: synthetic({ ...shape, page: { clusters } }), plain: synthetic({ ranks: 8, iterations: 20, clusters: 4 }) };
}

const { clusters: raw, run, plain } = found();
const clusters = readClusters(raw);

function onlyPart(): Part {
  const [part, ...others] = partsOf(clusters);
  if (!part || others.length > 0) throw new Error('not one group');
  return part;
}

test('tells which clusters are one kind, in which round they were joined, and why', () => {
  const rows = kinshipOf(clusters);
  expect(rows.map((r) => [r.id, r.kind, r.join?.round ?? 0, r.basin?.eps])).toEqual([
    [1, 1, 0, 0.0565],
    [4, 1, 2, 0.0565],
    [2, 2, 0, 0.0565],
    [3, 3, 0, 0],
  ]);
  const part = onlyPart();
  expect(part.name).toBe('all bursts');
  expect(arcsOf(part).map((a) => [a.from, a.to, a.joined])).toEqual([
    [1, 2, false],
    [3, 2, false],
    [4, 1, true],
  ]);
});

test('counts the density of a group, noise included, and lays basins out so that none covers another', () => {
  const pack = loadPack(run.bytes);
  const part = onlyPart();
  const d = densityOf(pack, clusters, part, 'points.counter.0', true, 100);
  const label = Array.from(pack.column('points.cluster'));
  for (const id of [-1, 1, 2, 3, 4]) {
    expect(d?.rows.get(id)?.reduce((a, b) => a + b)).toBeCloseTo(label.reduce((sum, l, i) => sum + (l === id ? (pack.column('points.weight')[i] ?? NaN) : 0), 0), 3);
  }
  const { strips, rows, more } = stripsOf(part.basins, 1, false, 2); // along IPC all lie over each other
  expect([strips.length, rows, more]).toEqual([2, 2, 2]);
  const along = stripsOf(part.basins, 0, true, 9);
  for (const a of along.strips) for (const b of along.strips) expect(a === b || a.row !== b.row || a.to <= b.from || b.to <= a.from).toBe(true);
});

test('names of clusters do not lie over each other: that with more time goes first', () => {
  const at = (id: number, x: number, y = 0) => ({ id, x, y });
  expect(readable([at(12, 103), at(1, 100), at(3, 130), at(20, 104, 12), at(4, 141), at(15, 141)]).map((n) => n.id)).toEqual([1, 3, 4, 20]);
});

test('burst space shows density and joins; a variant is hollow, in the colour of its kind, and hatched in legends', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=space&probe=1');
  const density = page.locator('.panel.density');
  await expect.poll(() => density.locator('svg.chart').count()).toBe(1);
  const drawn = (await page.evaluate(() => window.__moriens?.drawn['density'])) as { clusters: number[]; arcs: { joined: boolean }[]; basins: unknown[] };
  expect(drawn.clusters.sort()).toEqual([-1, 1, 2, 3, 4]);
  expect(drawn.arcs.filter((a) => a.joined)).toHaveLength(1);
  expect(drawn.basins).toHaveLength(4);
  expect(await density.innerText()).toContain('4 clusters, 3 kinds');
  expect(await density.locator('svg.chart').getAttribute('aria-label')).toContain('variant of 1: predicted to 12 %');
  expect(await page.locator('.legend path.variant').count()).toBe(1);
  const space = (await page.evaluate(() => window.__moriens?.drawn['space'])) as { colours: Record<string, string> };
  expect(space.colours['4']).toBe(COLOURS[0]);
  await accessible(page);
  // Along the other dimension, and away.
  await density.getByRole('combobox', { name: 'Along' }).selectOption({ label: 'IPC' });
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('along=1');
  await page.getByRole('checkbox', { name: 'Density' }).uncheck();
  await expect.poll(() => density.count()).toBe(0);
  expect(errors).toEqual([]);
  await close();
});

test('the refinement lists clusters with their kinds; a row selects its cluster', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=refinement&probe=1');
  const rows = page.locator('table.kinship tbody tr');
  expect(await rows.count()).toBe(4);
  expect((await rows.nth(1).innerText()).replace(/\s+/g, ' ').trim()).toMatch(/^cluster 4 variant of 1 .* 2 12\s?% variant of 1: predicted to 12 %/);
  expect(await page.locator('.panel', { hasText: 'Clusters and kinds' }).last().innerText()).toContain('1 more cluster of 7 bursts joined a kind');
  expect(await page.getByRole('radio', { name: /Step 1/ }).innerText()).toContain('density');
  await rows.nth(1).getByRole('button').click();
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('cluster=4');
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

// inPaper counts the pixels of the timeline's threads that have the colour of the page's ground.
const inPaper = (page: Page) =>
  page.evaluate(() => {
    const canvas = [...document.querySelectorAll<HTMLCanvasElement>('.timeline-plot > canvas')].at(-1);
    const words = new Uint32Array(canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data.buffer ?? new ArrayBuffer(0));
    let n = 0;
    for (const word of words) if (word === 0xffffffff) n++;
    return n;
  });

test('the timeline hatches variants', async () => {
  const counts = [];
  for (const bytes of [plain.bytes, run.bytes]) {
    const { page, errors, close } = await open(browser, report(bytes), 'view=timeline&probe=1&messages=no');
    await expect.poll(() => page.evaluate(() => window.__moriens?.drawn['timeline'] !== undefined)).toBe(true);
    counts.push(await inPaper(page));
    expect(errors).toEqual([]);
    await close();
  }
  const [without = 0, hatched = 0] = counts;
  expect(hatched - without).toBeGreaterThan(100);
});

test('a directory that knows no kinds shows neither', async () => {
  const { page, errors, close } = await open(browser, report(plain.bytes), 'view=space');
  expect(await page.locator('.panel.density').count()).toBe(0);
  expect(await page.getByRole('checkbox', { name: 'Density' }).count()).toBe(0);
  expect(await page.locator('path.variant').count()).toBe(0);
  expect(errors).toEqual([]);
  await close();
});
