// What the page takes: bytes, time until something is seen, time of a picture while one moves and zooms, memory. make
// bench-viewer prints the table of docs/viewer.md. REPORT is the report.html of a run of 1,024 ranks with 10,000 bursts
// each.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { launch, report } from '../test/browser';
import { pairsOf } from '../test/pairs';
import { synthetic } from '../test/synthetic';

const VIEWS = ['timeline', 'space'] as const;
type View = (typeof VIEWS)[number];
const PLOT: Record<View, string> = { timeline: '.timeline-plot', space: '.space-plot' };
const FRAMES = 60;

interface Figures {
  painted: number; // ms since the address was opened
  drawn: number;
  zoom: Motion;
  move: Motion;
  milliseconds: number; // of script for the last picture of the timeline
}

interface Motion {
  times: number[]; // ms between two pictures
  processor: number; // ms of all cores a picture: what the page and what draws for it has used
}

// pictures turns the wheel or presses a key before each picture of the screen, there and back, and gives the times
// between them.
function pictures(page: Page, plot: string, what: 'zoom' | 'move'): Promise<number[]> {
  return page.evaluate(
    ([plot, what, frames]) =>
      new Promise<number[]>((resolve) => {
        const element = document.querySelector<HTMLElement>(plot);
        if (!element) throw new Error('nothing is drawn');
        const box = element.getBoundingClientRect();
        const [clientX, clientY] = [box.left + box.width * 0.6, box.top + box.height * 0.6];
        const times: number[] = [];
        let before = 0;
        const turn = (now: number) => {
          if (before) times.push(now - before);
          before = now;
          if (times.length >= frames) {
            resolve(times);
            return;
          }
          const back = what === 'zoom' ? times.length >= frames / 2 : times.length % 8 > 3;
          if (what === 'zoom') element.dispatchEvent(new WheelEvent('wheel', { deltaY: back ? 60 : -60, clientX, clientY, cancelable: true }));
          else element.dispatchEvent(new KeyboardEvent('keydown', { key: back ? 'a' : 'd', bubbles: true, cancelable: true }));
          requestAnimationFrame(turn);
        };
        requestAnimationFrame(turn);
      }),
    [plot, what, FRAMES] as const,
  );
}

async function motion(browser: Browser, page: Page, view: View, what: 'zoom' | 'move'): Promise<Motion> {
  const before = await processor(browser);
  const times = await pictures(page, PLOT[view], what);
  return { times, processor: ((await processor(browser)) - before) / times.length };
}

async function figures(browser: Browser, page: Page, file: string, view: View): Promise<Figures> {
  await page.goto(`file://${file}#view=${view}&probe=1`);
  const drawn = await page.waitForFunction((v) => (window.__moriens?.drawn[v] ? performance.now() : null), view, { polling: 'raf', timeout: 300_000 });
  const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN);
  await page.waitForTimeout(1500);
  const zoom = await motion(browser, page, view, 'zoom');
  await page.keyboard.press('0');
  await page.keyboard.press('w');
  await page.waitForTimeout(1000);
  const move = await motion(browser, page, view, 'move');
  await page.waitForTimeout(2000); // then everything is drawn
  const last = (await page.evaluate((v) => window.__moriens?.drawn[v], view)) as { milliseconds?: number };
  return { painted, drawn: Number(await drawn.jsonValue()), zoom, move, milliseconds: last.milliseconds ?? NaN };
}

// processor gives the time that the page's own process and that which draws for it have used, ms.
async function processor(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter((p) => p.type === 'renderer' || p.type === 'GPU').reduce((sum, p) => sum + p.cpuTime * 1000, 0);
}

// resident gives the most memory that the page's own process has had, MiB.
async function resident(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const peaks = processInfo.filter((p) => p.type === 'renderer').map((p) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${p.id}/status`, 'utf8'))?.[1] ?? 0));
  return Math.max(...peaks) / 1024;
}

const part = (times: number[], share: number) => [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN;
const ms = (v: number) => (v < 10 ? v.toFixed(1) : v.toFixed(0));

const said = (m: Motion) => `${ms(part(m.times, 0.5))} / ${ms(part(m.times, 0.95))} / ${ms(m.processor)}`;

async function row(name: string, file: string): Promise<string[]> {
  const rows: string[] = [];
  for (const view of VIEWS) {
    const browser = await launch();
    const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
    const f = await figures(browser, page, file, view);
    expect(f.zoom.times.length + f.move.times.length).toBe(2 * FRAMES);
    const cells = [name, view, (statSync(file).size / 1e6).toFixed(2), ms(f.painted), ms(f.drawn), said(f.zoom), said(f.move), ms(f.milliseconds), (await resident(browser)).toFixed(0)];
    rows.push(`| ${cells.join(' | ')} |`);
    await browser.close();
  }
  return rows;
}

test('the page', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'viewer-bench-'));
  try {
    const rows = [
      '| page | view | MB | first paint, ms | drawn, ms | zoom: ms a picture, median / 95 % / processor | move: likewise | canvas of threads, ms | MiB |',
      '|---|---|---|---|---|---|---|---|---|',
    ];
    const given = process.env['REPORT'];
    if (given) rows.push(...(await row('1,024 ranks × 10,000 bursts, kept', given)));
    const every = synthetic({ ranks: 1024, iterations: 260, clusters: 4, bins: 1000 });
    const file = join(dir, 'report.html');
    writeFileSync(file, report(every.bytes));
    rows.push(...(await row(`${every.points.toLocaleString('en-US')} bursts of 1,024 ranks, all`, file)));
    console.log(rows.join('\n'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

// The first picture of the view Pairs: dendrogram and matrix. The tables below it are made after it.
test('pairs', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'viewer-bench-'));
  try {
    const rows = ['| ranks | pairs | MB | picture, ms | all, ms | processor, ms | MiB |', '|---|---|---|---|---|---|---|'];
    for (const ranks of [64, 1024, 16_384]) {
      const data = pairsOf({ ranks, perNode: 128, reach: 13, groups: 8 });
      const sizes = Object.fromEntries(Object.entries(data.columns).map(([name, column]) => [name, name.startsWith('pairs.size.') ? column.slice(0, 100_000) : column])); // as many as a report has
      const file = join(dir, `${ranks}.html`);
      writeFileSync(file, report(synthetic({ ranks, iterations: 1, clusters: 2, pairs: { ...data, columns: sizes } }).bytes));
      const figures: { drawn: number; all: number; used: number; resident: number }[] = [];
      for (let round = 0; round < 5; round++) {
        const browser = await launch();
        const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
        await page.goto(`file://${file}#view=pairs&probe=1`);
        const drawn = await page.waitForFunction(() => (window.__moriens?.drawn['pairs'] as { now: number } | undefined)?.now, null, { polling: 'raf', timeout: 300_000 });
        await page.waitForSelector('.listing-sizes');
        const all = await page.evaluate(() => performance.now());
        figures.push({ drawn: Number(await drawn.jsonValue()), all, used: await processor(browser), resident: await resident(browser) });
        await browser.close();
      }
      const least = (of: (f: (typeof figures)[number]) => number) => Math.min(...figures.map(of));
      rows.push(`| ${[ranks.toLocaleString('en-US'), (data.columns['pairs.each.a']?.length ?? 0).toLocaleString('en-US'), (statSync(file).size / 1e6).toFixed(2), ms(least((f) => f.drawn)), ms(least((f) => f.all)), ms(least((f) => f.used)), least((f) => f.resident).toFixed(0)].join(' | ')} |`);
      expect(figures).toHaveLength(5);
    }
    console.log(rows.join('\n'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
