// The frame round the views: address, keys, themes, what is said when there is nothing to show.
import { statSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessible, launch, open, report, type Opened } from './browser';
import { BUILT } from './build';
import { packBytes } from './pack';
import { synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const html = () => report(run.bytes);

const viewOf = (page: Page) => page.locator('nav button[aria-current=page]').innerText();
const chips = (page: Page) => page.locator('.chip').allInnerTexts();
const hashOf = (page: Page) => page.evaluate(() => location.hash);

async function done({ errors, close }: Opened): Promise<void> {
  expect(errors).toEqual([]);
  await close();
}

test('opens from disk with the network off, on the overview, in both themes', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const opened = await open(browser, html(), '', { colorScheme });
    expect(await opened.page.title()).toBe('Overview · halo · moriens');
    expect(await viewOf(opened.page)).toBe('Overview');
    expect(await opened.page.evaluate(() => document.documentElement.dataset['theme'])).toBe(colorScheme);
    await accessible(opened.page);
    await done(opened);
  }
});

test('the script is small', () => {
  expect(statSync(`${BUILT}viewer.js`).size).toBeLessThan(600_000);
});

test('keys open every view, the list of keys, and lift the selection', async () => {
  const opened = await open(browser, html(), 'cluster=2');
  const { page } = opened;
  const buttons = page.locator('nav button');
  for (let i = 0; i < (await buttons.count()); i++) {
    const button = buttons.nth(i);
    await page.keyboard.press((await button.getAttribute('aria-keyshortcuts')) ?? '');
    expect(await viewOf(page)).toBe(await button.innerText());
    expect(await chips(page)).toEqual([expect.stringContaining('cluster 2')]);
  }
  await page.keyboard.press('?');
  await page.locator('dialog[open]').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await chips(page)).toHaveLength(1);
  await page.keyboard.press('Escape');
  expect(await chips(page)).toHaveLength(0);
  await done(opened);
});

test('title, pointer and keys are right from the moment that a view is there, before the next frame', async () => {
  // Once it is there, no frame and no timer comes any more.
  const still = `<head><script>for (const name of ['setTimeout', 'requestAnimationFrame']) {
    const later = window[name];
    window[name] = (f, ...rest) => later((...args) => { if (!document.querySelector('main')) f(...args); }, ...rest);
  }</script>`;
  const opened = await open(browser, html().replace('<head>', () => still), `view=timeline&zoom=0~${run.iterationNS}`);
  const { page } = opened;
  expect(await page.title()).toBe('Timeline · halo · moriens');
  const threads = await page.locator('.timeline-plot > canvas').nth(1).boundingBox();
  if (!threads) throw new Error('no timeline');
  await page.mouse.move(threads.x + threads.width * 0.1, threads.y + (threads.height * 3.4) / 8);
  await expect.poll(() => page.locator('.tip').allInnerTexts()).toEqual([expect.stringMatching(/^\s*cluster 1 · rank 3/)]);
  await page.keyboard.press('9');
  await expect.poll(() => viewOf(page)).toBe('Files');
  expect(await page.title()).toBe('Files · halo · moriens');
  await done(opened);
});

test('keys do nothing while somebody types', async () => {
  const opened = await open(browser, html(), 'cluster=2');
  const { page } = opened;
  await page.evaluate(() => {
    const field = document.createElement('input');
    document.body.append(field);
    field.focus();
  });
  await page.keyboard.press('9');
  await page.keyboard.press('Escape');
  expect(await viewOf(page)).toBe('Overview');
  expect(await chips(page)).toHaveLength(1);
  await done(opened);
});

test('the selection is in the address, and the address restores it', async () => {
  const opened = await open(browser, html());
  const { page } = opened;
  await page.getByRole('button', { name: 'cluster 3', exact: true }).click();
  await page.getByRole('button', { name: 'cluster 1', exact: true }).click({ modifiers: ['Control'] });
  await expect.poll(() => hashOf(page)).toContain('cluster=3,1');
  await page.keyboard.press('9');
  await expect.poll(() => hashOf(page)).toContain('view=files');
  await page.reload();
  await page.waitForSelector('main');
  expect(await viewOf(page)).toBe('Files');
  expect(await chips(page)).toEqual([expect.stringContaining('cluster 3 and cluster 1')]);
  await page.goBack();
  await expect.poll(() => viewOf(page)).toBe('Overview');
  await page.evaluate(() => (location.hash = '#view=overview&threads=0-3,7&from=1e6&to=3e6&level=2'));
  await expect.poll(() => chips(page)).toEqual([
    expect.stringContaining('ranks 0–3, 7'),
    expect.stringMatching(/1\sms to 3\sms \(2\sms\)/),
    expect.stringContaining('step 2'),
  ]);
  await page.getByRole('button', { name: 'Select all time' }).click();
  await expect.poll(() => chips(page)).toHaveLength(2);
  await page.getByRole('button', { name: 'Clear all' }).click();
  await expect.poll(() => hashOf(page)).toBe('#view=overview');
  await done(opened);
});

test('the theme can be switched, is kept, and is light on paper', async () => {
  const opened = await open(browser, html());
  const { page } = opened;
  const theme = () => page.evaluate(() => document.documentElement.dataset['theme']);
  const button = page.locator('header .tools button').first();
  await button.click();
  expect(await theme()).toBe('light');
  await button.click();
  expect(await theme()).toBe('dark');
  await page.reload();
  await page.waitForSelector('main');
  expect(await theme()).toBe('dark');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  expect(await theme()).toBe('light');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  expect(await theme()).toBe('dark');
  await done(opened);
});

// laid says how wide and high the pictures are, and whether a canvas shows anything, once a print has begun or ended:
// before the next frame.
const laid = (page: Page, event: 'beforeprint' | 'afterprint') =>
  page.evaluate(async (type) => {
    dispatchEvent(new Event(type));
    for (let i = 0; i < 1000; i++) await Promise.resolve(); // what is to be done at once; frames and timers wait
    const pictures = [...document.querySelectorAll<HTMLCanvasElement | SVGSVGElement>('main svg.chart, main canvas')];
    return pictures.filter((e) => getComputedStyle(e).visibility === 'visible').map((e) => {
      const { width, height } = e.getBoundingClientRect();
      const data = e instanceof HTMLCanvasElement ? e.getContext('2d')?.getImageData(0, 0, e.width, e.height).data : undefined;
      return { width, height, shows: data?.some((v) => v > 0) ?? null };
    });
  }, event);

test('the printed page is as wide as a sheet whatever the screen is, and drawn for that width', async () => {
  for (const view of ['space', 'timeline', 'ranks']) {
    const prints = [];
    for (const width of [1100, 2560]) {
      const opened = await open(browser, html(), `view=${view}`, { viewport: { width, height: 900 } });
      const { page } = opened;
      await page.waitForSelector('main canvas');
      const print = await laid(page, 'beforeprint');
      expect(await page.locator('nav').isVisible()).toBe(false);
      expect(await page.locator('.panel-tools button:visible').count()).toBe(0);
      if (view === 'ranks') expect(await page.locator('.heat-key').isVisible()).toBe(true);
      for (const p of print) expect(p.width).toBeLessThanOrEqual(960);
      expect(print.some((p) => p.shows), view).toBe(true);
      expect(print.every((p) => p.shows !== false), view).toBe(true);
      prints.push(print);
      await laid(page, 'afterprint');
      expect(await page.locator('nav').isVisible()).toBe(true);
      await expect.poll(() => page.locator('main .sized').first().evaluate((e) => e.clientWidth > 960)).toBe(true);
      await done(opened);
    }
    expect(prints[1], view).toEqual(prints[0]);
  }
});

test('a narrow page has all of each view, and the name of the one that is shown', async () => {
  const opened = await open(browser, html(), 'view=overview', { viewport: { width: 400, height: 900 } });
  const { page } = opened;
  for (const button of await page.locator('nav button').all()) {
    const name = await button.innerText();
    await button.evaluate((b) => (b as HTMLElement).click()); // the browser's own click would scroll there
    await expect.poll(() => button.getAttribute('aria-current')).toBe('page');
    await expect.poll(() => button.evaluate((e) => e.getBoundingClientRect().left >= 0 && e.getBoundingClientRect().right <= innerWidth), { message: name }).toBe(true);
    const wider = () => page.locator('main').evaluate((e) => e.scrollWidth - e.clientWidth);
    await expect.poll(wider, { message: name }).toBe(0);
    for (const high of await page.locator('.panel-head .note').evaluateAll((all) => all.map((n) => n.clientHeight))) expect(high, name).toBeLessThan(80); // some lines, and not one for each word
  }
  await done(opened);
});

describe('a page that cannot show a run says why', () => {
  const cut = run.bytes.subarray(0, run.bytes.length >> 1);
  const cases: [string, () => string, RegExp][] = [
    ['no pack', () => report(null), /contains no data/],
    ['an empty pack', () => report(null, ''), /contains no data/],
    ['no base64', () => report(null, '####'), /not base64/],
    ['cut gzip', () => report(null, Buffer.from('H4sIAAAAAAAAA', 'latin1').toString()), /damaged/],
    ['a cut pack', () => report(cut), /cut off/],
    ['a newer format', () => report(packBytes({ ...run.json, format: 7 }, {})), /have format 7; this page reads format 1/],
  ];
  test.each(cases)('%s', async (_, make, said) => {
    const opened = await open(browser, make());
    const { page } = opened;
    await expect.poll(() => page.locator('main').innerText()).toMatch(said);
    await accessible(page);
    await done(opened);
  });
});

test('an incomplete run says first what is missing, and a complete one nothing', async () => {
  const missing = ['1 of 4 ranks not recorded on n1: no space left on device', '3 records of MPI calls and marks dropped'];
  for (const incomplete of [[], missing.slice(0, 1), missing]) {
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 4, iterations: 4, clusters: 2, manifest: { complete: incomplete.length === 0, incomplete } }).bytes));
    await page.locator('.timebar').waitFor();
    const banner = page.getByRole('status', { name: 'Incomplete' });
    expect(await banner.count()).toBe(incomplete.length > 0 ? 1 : 0);
    if (incomplete.length > 0) {
      const said = await banner.innerText();
      expect(said).toMatch(/^This run is incomplete: /);
      for (const text of incomplete) expect(said).toContain(text);
    }
    expect(errors).toEqual([]);
    await close();
  }
});

test('an empty run is shown with the reason', async () => {
  const nothing = packBytes(
    {
      format: 1,
      mode: 'report',
      manifest: { worlds: [{ executable: '/bin/true' }], command: ['mpirun', '/bin/true'], empty: 'no rank called MPI_Init', ranks: 0 },
      clusters: { clusters: [] },
      problems: ['trace.prv: it is not there.'],
    },
    {},
  );
  const opened = await open(browser, report(nothing));
  const { page } = opened;
  expect(await page.locator('.banner').innerText()).toMatch(/There is no burst in this run: no rank called MPI_Init[\s\S]*trace\.prv: it is not there\./);
  for (const button of await page.locator('nav button').all()) {
    await button.click();
    expect((await page.locator('main').innerText()).length).toBeGreaterThan(10);
    await accessible(page);
  }
  await done(opened);
});

test('a directory without manifest.json is no blank page', async () => {
  const bare = packBytes({ format: 1, mode: 'report', manifest: null, clusters: null, problems: ['manifest.json: it is cut off.'] }, {});
  const opened = await open(browser, report(bare));
  expect(await opened.page.locator('.banner').innerText()).toContain('manifest.json: it is cut off.');
  for (const button of await opened.page.locator('nav button').all()) {
    await button.click();
    expect((await opened.page.locator('main').innerText()).length).toBeGreaterThan(10);
  }
  await done(opened);
});

test('text from a run is never markup, and no number breaks a view', async () => {
  const evil = '<img src=x onerror="alert(1)"><script>window.hacked=1</script>';
  const clusters = (run.json['clusters'] as { clusters: Record<string, unknown>[] }).clusters.map((c, i) => ({
    ...c,
    colour: i === 0 ? 'url(javascript:alert(1))' : c['colour'],
    before: [
      { path: 0, bursts: 1e300 },
      { path: 1e300, bursts: -1 },
    ],
    mean_ns: i === 1 ? 1e308 : -5,
  }));
  const hostile = synthetic({
    ranks: 8,
    iterations: 20,
    clusters: 4,
    manifest: {
      run: evil,
      worlds: [{ executable: `/x/${evil}`, mpi: { library: evil, version: evil }, size: 1e308 }],
      hosts: [{ name: evil, cpus: -1, ranks: 1e308 }],
      command: [evil, 'x'.repeat(100_000)],
      notes: [evil, 'y'.repeat(10_000)],
      files: [
        { name: 'javascript:alert(1)', bytes: 1e308, content: evil },
        { name: '../../etc/passwd', bytes: -1, content: '' },
        { name: evil, bytes: 0, content: evil },
      ],
      counters: [{ name: evil, unit: evil }],
      ranks: 1e308,
      seconds: 1e308,
      stage_seconds: { __proto__: { polluted: 1 }, constructor: 1 },
    },
    page: {
      clusters: { ...(run.json['clusters'] as object), clusters, call_paths: [{ name: evil, function: evil, frames: [{ function: evil, file: evil, line: -1 }] }] },
      hosts: [evil, evil],
      paths: Array.from({ length: 4 }, () => ({ name: evil, function: evil })),
      functions: [evil, evil],
      counters: [
        { name: evil, unit: evil },
        { name: evil, unit: evil },
      ],
      problems: [evil],
      resolution: evil,
    },
  });
  const opened = await open(browser, report(hostile.bytes), 'view=%3Cscript%3E&cluster=1&x=%3Cimg%3E');
  const { page } = opened;
  for (const button of await page.locator('nav button').all()) {
    await button.click();
    expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
    expect(await page.locator('main .failure').count()).toBe(0);
  }
  expect(await page.evaluate(() => 'hacked' in window || 'polluted' in {})).toBe(false);
  expect(await page.locator('.banner').innerText()).toContain(evil);
  expect(await page.locator('a[href^="javascript"], a[href*=".."]').count()).toBe(0);
  await done(opened);
});

test('a view that fails leaves the others alone', async () => {
  const opened = await open(browser, html());
  const { page, errors, close } = opened;
  await page.keyboard.press('9');
  await page.evaluate(() => {
    const get = Object.getOwnPropertyDescriptor(Map.prototype, 'get')?.value as (key: unknown) => unknown;
    Map.prototype.get = function (key: unknown) {
      if (key === 'points.cluster' || key === 'rank.computing_seconds') throw new Error('planted');
      return get.call(this, key);
    };
  });
  await page.keyboard.press('1');
  await expect.poll(() => page.locator('main').innerText()).toMatch(/Overview could not be drawn[\s\S]*planted/);
  await page.keyboard.press('9');
  expect(await page.locator('main').innerText()).toContain('trace.prv');
  expect(errors.some((e) => e.includes('planted'))).toBe(true);
  await close();
});
