// Each view of a real run, by numbers: what is drawn is compared with the tables and JSON files of the run directory,
// which has every burst and call.
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeAt } from '../src/data/lineage';
import { count } from '../src/format';
import { launch, openAt, type Opened } from './browser';
import { measureHalo, type RealRun } from './real';
import { overlap, tablesOf, type Tables } from './tables';

interface Clusters {
  readonly clusters: { id: number; variant_of: number | null; colour: string; bursts: number; seconds: number; share: number; score: number }[];
  readonly total: { bursts: number; seconds: number; noise_bursts: number; filtered_bursts: number };
  // id, cluster, group, Eps, MinPts, bursts, seconds, …
  readonly refinement: { chosen: number[]; levels: { nodes: [number, number, number, number, number, number, number][] }[] };
}
interface Manifest {
  readonly bursts: number;
  readonly seconds: number;
  readonly computing_seconds: number;
  readonly kept: { classes: { size: number }[]; outliers: { rank: number; reason: string }[] };
}

const RANKS = 4;
const NOISE = '#6b6b6b';
const FILTERED = '#c2c2c2';

let browser: Browser;
let run: RealRun;
let tables: Tables;
let clusters: Clusters;
let manifest: Manifest;
beforeAll(async () => {
  browser = await launch();
  // Frozen at 1 alone: several steps, unless by chance all ranks of the run did the same at the same time already at
  // the first.
  for (let runs = 1; ; runs++) {
    run = await measureHalo(RANKS, ['-i', '400', '-s', '2', '-o', '100', '-r', '128'], ['--keep-bursts', 'all', '--freeze', '1']);
    clusters = run.read('clusters.json') as Clusters;
    if (clusters.refinement.levels.length > 1 || runs === 20) break;
    run.remove();
  }
  tables = await tablesOf(run.dir);
  manifest = run.read('manifest.json') as Manifest;
});
afterAll(async () => {
  run.remove();
  await browser.close();
});

const open = (hash: string): Promise<Opened> => openAt(browser, `file://${join(run.dir, 'report.html')}#probe=1&${hash}`, { offline: true });

async function drawn<T>(page: Page, view: string, good: (d: T) => boolean = () => true): Promise<T> {
  let d: T | undefined;
  await expect.poll(async () => (d = (await page.evaluate((v) => window.__moriens?.drawn[v], view)) as T | undefined) !== undefined && good(d)).toBe(true);
  if (d === undefined) throw new Error(`${view} is not drawn`);
  return d;
}

// go opens another view, and forgets what was drawn before.
const go = (page: Page, hash: string) =>
  page.evaluate((h) => {
    if (window.__moriens) window.__moriens.drawn = {};
    location.hash = h;
  }, hash);

async function done({ errors, close }: Opened): Promise<void> {
  expect(errors).toEqual([]);
  await close();
}

// isVariant says of a cluster that it is drawn hatched, or as hollow points.
const isVariant = (id: number) => (clusters.clusters.find((c) => c.id === id)?.variant_of ?? null) !== null;
const colourOf = (id: number) => (id === -2 ? FILTERED : (clusters.clusters.find((c) => c.id === id)?.colour ?? NOISE));

test('clusters: the table and the histogram have the figures of clusters.json and bursts.parquet', async () => {
  const opened = await open('view=clusters');
  const { page } = opened;
  await page.locator('tr[data-cluster]').first().waitFor();
  const n = (await page.locator('table:has(tr[data-cluster]) thead th').allInnerTexts()).findIndex((text) => text.startsWith('Bursts')) - 1; // the first is a th in each row
  const rows = await page.locator('tr[data-cluster]').evaluateAll((list, n) => list.map((r) => [Number((r as HTMLElement).dataset['cluster']), r.querySelector('.swatch rect')?.getAttribute('fill'), r.querySelectorAll('td')[n]?.textContent]), n);
  const rest = [[-1, NOISE, clusters.total.noise_bursts], [-2, FILTERED, clusters.total.filtered_bursts]].filter(([, , n]) => Number(n) > 0);
  expect(rows).toEqual([...clusters.clusters.map((c) => [c.id, c.colour, c.bursts]), ...rest].map(([id, colour, n]) => [id, colour, count(Number(n))]));

  for (const c of clusters.clusters.slice(0, 2)) {
    await page.evaluate((id) => (location.hash = `view=clusters&cluster=${id}`), c.id);
    const h = await drawn<{ clusters: number[]; bursts: number[]; span: { from: number; to: number } }>(page, 'histogram', (d) => d.clusters[0] === c.id);
    const own = tables.bursts.filter((b) => b.cluster === c.id);
    expect(h.bursts).toEqual([c.bursts]);
    expect(own.length).toBe(c.bursts);
    expect(h.span.from).toBeCloseTo(Math.log(Math.min(...own.map((b) => b.durationNS))), 6);
    expect(h.span.to).toBeCloseTo(Math.log(Math.max(...own.map((b) => b.durationNS))), 6);
  }
  await done(opened);
});

test('burst space: every burst lies where bursts.parquet says, in the colour of clusters.json', async () => {
  const opened = await open('view=space&x=start:lin&y=duration:lin');
  const { page } = opened;
  const d = await drawn<{ of: number; lit: number; points: number; x: { from: number; to: number }; y: { from: number; to: number }; colours: Record<string, string> }>(page, 'space', (s) => s.points === tables.bursts.length);
  expect(d.of).toBe(tables.bursts.length);
  const ids = new Set(tables.bursts.map((b) => b.cluster));
  for (const id of ids) expect(d.colours[id], `cluster ${id}`).toBe(colourOf(id));
  for (const [span, values] of [[d.x, tables.bursts.map((b) => b.startNS)], [d.y, tables.bursts.map((b) => b.durationNS)]] as const) {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const room = 0.031 * (most - least); // 3 % at either side
    expect(span.from).toBeLessThanOrEqual(least);
    expect(span.from).toBeGreaterThanOrEqual(least - room);
    expect(span.to).toBeGreaterThanOrEqual(most);
    expect(span.to).toBeLessThanOrEqual(most + room);
  }
  // Of one cluster, of one rank.
  const rank = 1;
  const its = clusters.clusters.find((c) => tables.bursts.some((b) => b.cluster === c.id && b.rank === rank));
  if (!its) throw new Error(`no cluster has a burst of rank ${rank}`);
  await page.evaluate(([id, thread]) => (location.hash = `view=space&x=start:lin&y=duration:lin&cluster=${id}&threads=${thread}`), [its.id, rank] as const);
  const of = tables.bursts.filter((b) => b.cluster === its.id && b.rank === rank).length;
  await drawn<{ lit: number }>(page, 'space', (s) => s.lit === of);
  // The longest burst that is of no variant, with none of another colour near, is there, as pixels of its colour.
  await page.evaluate(() => (location.hash = 'view=space&x=start:lin&y=duration:lin'));
  const now = await drawn<{ lit: number; x: { from: number; to: number }; y: { from: number; to: number } }>(page, 'space', (s) => s.lit === tables.bursts.length);
  const partOf = (b: { startNS: number; durationNS: number }) => ({ x: (b.startNS - now.x.from) / (now.x.to - now.x.from), y: (now.y.to - b.durationNS) / (now.y.to - now.y.from) });
  const near = 0.03; // of the axes: more than a point's size
  const longest = tables.bursts
    .filter((b) => !isVariant(b.cluster))
    .toSorted((a, b) => b.durationNS - a.durationNS)
    .find((l) => {
      const at = partOf(l);
      return tables.bursts.every((b) => b === l || (b.cluster === l.cluster && !isVariant(b.cluster)) || Math.abs(partOf(b).x - at.x) > near || Math.abs(partOf(b).y - at.y) > near);
    });
  if (!longest) throw new Error('every burst has one of another colour near');
  const part = partOf(longest);
  const pixel = async () =>
    page.evaluate(({ x, y }) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.space-plot > canvas');
      const copy = document.createElement('canvas');
      if (!canvas) return null;
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d');
      context?.drawImage(canvas, 0, 0);
      const [r, g, b, a] = context?.getImageData(Math.floor(x * canvas.width), Math.floor(y * canvas.height), 1, 1).data ?? [];
      return { colour: [r, g, b], opaque: (a ?? 0) > 60 };
    }, part);
  await expect.poll(async () => (await pixel())?.opaque).toBe(true);
  const want = [1, 3, 5].map((k) => parseInt(colourOf(longest.cluster).slice(k, k + 2), 16));
  const got = (await pixel())?.colour ?? [];
  want.forEach((v, k) => expect(Math.abs((got[k] ?? 0) - v)).toBeLessThan(12));
  await done(opened);
});

test('timeline: each call and burst is shown for as long as the trace has it', async () => {
  const opened = await open('view=timeline&messages=no');
  const { page } = opened;
  const whole = await drawn<{ time: { from: number; to: number }; rows: { to: number }; clusters: number[] }>(page, 'timeline');
  expect(whole.rows.to).toBe(RANKS);
  // From time 0 to the last call's exit: longer than manifest.seconds, which is the longest rank's own, where ranks
  // begin at different times.
  expect(whole.time).toEqual({ from: 0, to: Math.max(...tables.calls.map((c) => c.exitNS)) });
  expect(whole.time.to / 1e9).toBeGreaterThanOrEqual(manifest.seconds - 1e-9);
  for (const id of whole.clusters) expect(clusters.clusters.map((c) => c.id)).toContain(id);

  // Forty calls in the middle of the slow rank.
  const rank = 2;
  const calls = tables.calls.filter((c) => c.rank === rank);
  const bursts = tables.bursts.filter((b) => b.rank === rank);
  const middle = calls.length >> 1;
  const time = { from: calls[middle]?.enterNS ?? 0, to: calls[middle + 40]?.exitNS ?? 0 };
  await page.evaluate((hash) => (location.hash = hash), `view=timeline&messages=no&path=no&zoom=${time.from}~${time.to}&threads=${rank}`);
  const d = await drawn<{ time: { from: number; to: number }; width: number; height: number; detail: boolean; colours: Record<string, string> }>(page, 'timeline', (t) => t.time.from === time.from && t.time.to === time.to);
  expect(d.detail).toBe(true);
  // The row of the rank, pixel by pixel: what has most of each pixel's time is what has its colour. Lines across a
  // variant take about half of it.
  const row = await page.evaluate(
    ([r, ranks]) => {
      const canvas = document.querySelectorAll<HTMLCanvasElement>('.timeline-plot > canvas')[1];
      const data = canvas?.getContext('2d')?.getImageData(0, Math.round(((r + 0.5) * canvas.height) / ranks), canvas.width, 1).data ?? [];
      return Array.from({ length: data.length / 4 }, (_, i) => `#${[0, 1, 2].map((k) => (data[4 * i + k] ?? 0).toString(16).padStart(2, '0')).join('')}`);
    },
    [rank, RANKS] as const,
  );
  let [sure, right, hatched, plain, waiting, striped] = [0, 0, 0, 0, 0, 0];
  const filled = new Set(['#e4e4e4', NOISE, FILTERED, ...clusters.clusters.map((c) => c.colour)]);
  for (let p = 0; p < row.length; p++) {
    const pixel = { from: time.from + ((time.to - time.from) * p) / row.length, to: time.from + ((time.to - time.from) * (p + 1)) / row.length };
    const share = new Map<string, number>();
    const add = (colour: string, from: number, to: number) => share.set(colour, (share.get(colour) ?? 0) + overlap(from, to, pixel));
    for (const c of calls) {
      add('waits', c.enterNS, c.enterNS + c.waitNS);
      add('#e4e4e4', c.enterNS + c.waitNS, c.exitNS);
    }
    for (const b of bursts) add(colourOf(b.cluster) + (isVariant(b.cluster) ? ' hatched' : ''), b.startNS, b.startNS + b.durationNS);
    const [[what, ns] = ['', 0]] = [...share].sort((a, b) => b[1] - a[1]);
    if (ns < 0.6 * (pixel.to - pixel.from)) continue;
    if (what === 'waits') {
      waiting++;
      if (!filled.has(row[p] ?? '')) striped++;
      continue;
    }
    const [colour, lines] = what.split(' ');
    if (lines !== undefined) {
      hatched++;
      if (row[p] === colour) plain++;
      continue;
    }
    sure++;
    if (row[p] === colour) right++;
  }
  expect(sure + hatched + waiting).toBeGreaterThan(0.8 * row.length);
  expect(striped).toBe(waiting);
  expect(plain).toBeGreaterThanOrEqual((hatched - 8) / 3); // of a short stretch lines may take most
  expect(right).toBe(sure);
  await done(opened);
});

test('ranks: classes, computing times and the heat map are those of the files', async () => {
  const opened = await open('view=ranks&against=zero');
  const { page } = opened;
  const h = await drawn<{ clusters: number[]; groups: number; values: number[][] }>(page, 'heat');
  expect(h.groups).toBe(RANKS);
  h.clusters.forEach((id, row) => {
    const c = clusters.clusters.find((k) => k.id === id);
    if (c) expect((h.values[row] ?? []).reduce((a, b) => a + b, 0), `cluster ${id}`).toBeCloseTo(c.seconds, 6);
  });
  expect(h.values.flat().reduce((a, b) => a + b, 0)).toBeCloseTo(clusters.total.seconds, 5);
  expect(await page.locator('.classes > li').count()).toBe(manifest.kept.classes.length);
  for (const o of manifest.kept.outliers) expect(await page.locator('.outliers').innerText()).toContain(o.reason);
  // The slow rank averages half of its rows once more.
  const e = await drawn<{ first: number[]; ranks: number }>(page, 'extrema');
  expect(e.ranks).toBe(RANKS);
  await page.getByLabel('Order').selectOption('most');
  const most = await drawn<{ first: number[]; order: string }>(page, 'extrema', (x) => x.order === 'most');
  const computing = h.values.reduce<number[]>((sum, row) => row.map((v, g) => v + (sum[g] ?? 0)), []);
  expect(most.first).toEqual([...computing.keys()].sort((a, b) => (computing[b] ?? 0) - (computing[a] ?? 0)));
  const profile = await drawn<{ name: string; colour: string; seconds: number }[]>(page, 'profile');
  for (const c of clusters.clusters) {
    const s = profile.find((x) => x.name === `cluster ${c.id}`);
    expect(s?.colour).toBe(c.colour);
    expect(Math.abs((s?.seconds ?? 0) - c.seconds)).toBeLessThan(1e-4 * c.seconds + 1e-6);
  }
  await done(opened);
});

test('refinement: each step recolours burst space, timeline and profile by its nodes', async () => {
  const { levels } = clusters.refinement;
  expect(levels.length).toBeGreaterThan(1);
  const opened = await open('view=refinement');
  const { page } = opened;
  interface Tree { step: number | null; nodes: { id: number; share: number; colour: string }[][] }
  const tree = await drawn<Tree>(page, 'refinement');
  levels.forEach((level, i) => {
    const total = level.nodes.reduce((sum, n) => sum + n[6], 0);
    const shares = new Map(tree.nodes[i]?.map((n) => [n.id, n.share]));
    for (const [id, , , , , , seconds] of level.nodes) expect(shares.get(id), `step ${i + 1}, node ${id}`).toBeCloseTo(seconds / total, 9);
  });
  for (let step = 1; step <= levels.length; step++) {
    const colours = new Map((tree.nodes[step - 1] ?? []).map((n) => [n.id, n.id === 0 ? NOISE : n.colour]));
    const nodes = new Set(tables.bursts.filter((b) => b.nodes !== '').map((b) => nodeAt(b.nodes, step)));
    await go(page, `view=space&x=start:lin&y=duration:lin&level=${step}`);
    const space = await drawn<{ points: number; colours: Record<string, string> }>(page, 'space', (s) => s.points === tables.bursts.length && [...nodes].every((n) => (n || -1) in s.colours));
    for (const n of nodes) expect(space.colours[n || -1], `step ${step}, node ${n}`).toBe(colours.get(n));
    await go(page, `view=timeline&messages=no&level=${step}`);
    const timeline = await drawn<{ colours: Record<string, string> }>(page, 'timeline');
    const allowed = new Set([...colours.values(), FILTERED, '#e4e4e4']);
    const shown = Object.entries(timeline.colours).filter(([code]) => Number(code) > 5 && Number(code) < 0x20000000); // above that, kinds of waits
    expect(shown.length).toBeGreaterThan(0);
    for (const [code, colour] of shown) expect(colour, `step ${step}, code ${code}`).toBe(colours.get(Number(code) - 5));
    await go(page, `view=ranks&level=${step}`);
    const profile = await drawn<{ name: string; colour: string; seconds: number }[]>(page, 'profile');
    expect(profile.reduce((sum, s) => sum + (s.name === 'MPI' ? 0 : s.seconds), 0)).toBeCloseTo(clusters.total.seconds, 3);
    for (const s of profile) if (s.name !== 'MPI' && s.seconds > 0) expect(allowed, `step ${step}, ${s.name}`).toContain(s.colour);
    await go(page, 'view=refinement');
    await drawn<Tree>(page, 'refinement', (t) => t.step === null);
  }
  await done(opened);
});
