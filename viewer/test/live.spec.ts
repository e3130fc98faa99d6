import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, launch, report } from './browser';
import { packBytes } from './pack';
import { COLOURS } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const TOKEN = 'a-token';
// Of a run in progress the pack says next to nothing.
const bytes = packBytes({ format: 1, mode: 'live', manifest: null, clusters: null, problems: [], threads: 0, overview: null }, {});

// A Collector is what serves a run in progress: the page, what is known at the start, and a stream.
class Collector {
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  readonly asked: string[] = [];

  constructor() {
    this.#server = createServer((q, answer) => {
      const url = new URL(q.url ?? '', 'http://localhost');
      this.asked.push(url.pathname);
      if (url.pathname === '/') return void answer.setHeader('content-type', 'text/html').end(report(null));
      if (url.searchParams.get('token') !== TOKEN) return void answer.writeHead(403).end();
      if (url.pathname === '/pack') return void answer.end(gzipSync(bytes));
      answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      answer.write(': here\n\n');
      this.#streams.add(answer);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/?token=${TOKEN}`;
  }

  say(event: string, data: unknown): void {
    for (const s of this.#streams) s.write(`event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }

  get listeners(): number {
    return this.#streams.size;
  }

  close(): void {
    for (const s of this.#streams) s.end();
    this.#server.close();
  }
}

const health = (more: object = {}) => ({
  format: 1, run: 'r', stage: 'collecting', host: 'n1', seconds: 3, mpi_calls: 1000, bursts: 500, bursts_per_second: 166,
  agents: [{ host: 'n1', connected: true, done: false, away_seconds: 0, ranks: 4, batches_resent: 0 }],
  ranks: { recorded: 4, running: 4, ended: 0, died: 0, left: 0 },
  clusters: { count: 2, bursts: 480, explained_share: 0.96, largest: [] },
  losses: {}, memory: { heap_bytes: 1e6, resident_bytes: 30 << 20 }, analysis: [], journal: null, ...more,
});
const pageOf = (bins: number, more: object = {}) => ({
  health: health(more),
  profile: { from_ns: 0, bin_ns: 1e9, codes: [0, 1, 2, 6, 7], seconds: Array.from({ length: bins }, () => [0, 1, 0.1, 2, 0.9]) },
  clusters: [
    { id: 1, colour: COLOURS[0], bursts: 300, seconds: 2 * bins, before: '', after: '' },
    { id: 2, colour: '#123456', bursts: 180, seconds: 0.9 * bins, before: 'MPI_Send', after: 'MPI_Wait' },
  ],
  points: Array.from({ length: 50 }, (_, i) => ({ thread: i % 4, start_ns: i * 1e7, duration: 1e6 * (1 + (i % 2)), counters: [], cluster: 1 + (i % 2) })),
  overhead: [
    { what: 'processor time of the collector', value: 0.0004, unit: 'share', most: 0, why: '' },
    { what: 'of that, clustering while the job runs', value: 0.03, unit: 'share', most: 0.02, why: '' },
    { what: 'processor time of the agents (2)', value: null, unit: 's', most: 0, why: 'reported only at the end by 1 agent' },
    { what: 'processor time for an MPI call', value: 812.5, unit: 'ns', most: 0, why: '' },
    { what: 'memory of the collector', value: 30 << 20, unit: 'bytes', most: 0, why: '' },
  ],
});

async function watch(width = 1366): Promise<{ collector: Collector; page: Page; errors: string[]; close: () => Promise<void> }> {
  const collector = new Collector();
  const address = await collector.listen();
  const context = await browser.newContext({ viewport: { width, height: 768 } });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') errors.push(m.text());
  });
  page.on('pageerror', (e) => errors.push(String(e)));
  await page.goto(`${address}&probe=1#probe=1`);
  await page.waitForSelector('.live');
  await expect.poll(() => collector.listeners).toBe(1);
  return {
    collector, page, errors,
    close: async () => {
      await context.close();
      collector.close();
    },
  };
}

const drawn = (page: Page) => page.evaluate(() => window.__moriens?.drawn['live']) as Promise<{ bins: number; series: { name: string; colour: string; seconds: number }[] } | undefined>;

test('a narrow page has the figures in rows, and all of the tables within reach', async () => {
  const { collector, page, errors, close } = await watch(400);
  collector.say('page', pageOf(3));
  await page.waitForSelector('.live-clusters tr');
  expect(await page.locator('main').evaluate((e) => e.scrollWidth - e.clientWidth)).toBe(0);
  const tops = await page.locator('.live-head dl > div').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top));
  expect(new Set(tops).size).toBeLessThan(tops.length / 2);
  expect(await page.locator('.live-clusters td.calls').last().evaluate((e) => e.clientWidth)).toBeGreaterThan(80);
  expect(await page.locator('nav [aria-current]').evaluate((e) => e.getBoundingClientRect().right <= innerWidth)).toBe(true);
  expect(errors).toEqual([]);
  await close();
});

test('follows a run to its end', async () => {
  const { collector, page, errors, close } = await watch();
  collector.say('page', pageOf(3));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 3 });
  expect((await drawn(page))?.series).toEqual([
    { name: 'cluster 1', colour: COLOURS[0], seconds: 6 },
    { name: 'cluster 2', colour: '#123456', seconds: expect.closeTo(2.7, 9) as number },
    { name: 'noise', colour: '#6b6b6b', seconds: expect.closeTo(0.3, 9) as number },
    { name: 'MPI', colour: '#e4e4e4', seconds: 3 },
  ]);
  const main = page.locator('main');
  expect(await main.innerText()).toContain('The job is running');
  expect(await main.innerText()).toContain('Nothing is lost so far.');
  const meters = await page.locator('.meters tr').evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.textContent.replace(/\s/g, ' '))));
  expect(meters).toEqual([
    ['processor time of the collector', '0.04 % of a core', ''],
    ['of that, clustering while the job runs', '3 % of a core', 'above 2 % of a core'],
    ['processor time of the agents (2)', '–', 'reported only at the end by 1 agent'],
    ['processor time for an MPI call', '813 ns', ''],
    ['memory of the collector', '30 MiB', ''],
  ]);
  await accessible(page);

  collector.say('page', pageOf(5, { losses: { records_dropped: 12 } }));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 5 });
  expect(await page.locator('.lost').innerText()).toContain('12 records dropped: ring buffer full');
  expect((await drawn(page))?.series[0]?.colour).toBe(COLOURS[0]);

  collector.say('page', pageOf(5, { stage: 'analysing', analysis: [{ name: 'cluster', seconds: 0.4, ended: true, given_up: false }, { name: 'choose', seconds: 0.1, ended: false, given_up: false }] }));
  await expect.poll(() => page.locator('.stages').innerText()).toContain('running');
  expect(await main.innerText()).toContain('The run is being analysed');
  collector.say('end', { directory: '/runs/<b>1</b>', error: '' });
  await expect.poll(() => main.innerText()).toContain('The results are in /runs/<b>1</b>');
  expect(await main.innerText()).toContain('The run has ended');
  expect(errors).toEqual([]);
  await close();
});

test('shows the efficiency, the rank that waits, and why figures are missing', async () => {
  const { collector, page, errors, close } = await watch();
  const none = { parallel_efficiency: null, load_balance: null, load_balance_in_nodes: null, load_balance_between_nodes: null, communication_efficiency: null, seconds: null, locations: 0 };
  const run = { parallel_efficiency: 0.6, load_balance: 0.75, load_balance_in_nodes: 0.9375, load_balance_between_nodes: 0.8, communication_efficiency: 0.8, seconds: 120, locations: 4 };
  const minute = { ...run, parallel_efficiency: 0.123, communication_efficiency: 0.164, seconds: 57 };
  const bins = [0.6, 0.6, 0.6, 0.5, 0.2, 0.1, 0, 0];
  const of = (efficiency: object, waiting: object | null) => pageOf(3, { efficiency: { run, minute, bin_seconds: 6, bins, why: '', ...efficiency }, waiting });
  const line = page.locator('.live-efficiency');
  const said = async () => (await line.innerText()).replace(/\s+/g, ' ');

  collector.say('page', pageOf(3)); // of an earlier version
  await page.waitForSelector('.live-clusters tr');
  expect(await line.count()).toBe(0);

  collector.say('page', of({}, { rank: 3, world: 0, call: 'MPI_Recv', callpath: 'a<b>.c:12', seconds: 9.9 }));
  await expect.poll(() => line.count()).toBe(1);
  expect(await said()).toBe('so far 120 s parallel efficiency 60 % load balance 75 % communication 80 % last minute 57 s parallel efficiency 12.3 % load balance 75 % communication 16.4 %');
  expect(await line.locator('[title]').nth(1).getAttribute('title')).toContain('in nodes 93.8\u202f%, between nodes 80\u202f%');
  expect(await line.locator('.live-spark').getAttribute('aria-label')).toBe('Parallel efficiency in each 6\u202fs of the last minute: 60\u202f%, 60\u202f%, 60\u202f%, 50\u202f%, 20\u202f%, 10\u202f%, 0\u202f%, 0\u202f%');
  expect((await line.locator('.live-spark .line').getAttribute('d'))?.split('L').length).toBe(bins.length);

  collector.say('page', of({}, { rank: 3, world: 1, call: 'MPI_Recv', callpath: 'a<b>.c:12', seconds: 312.7 }));
  await expect.poll(said).toContain('rank 3 of world 1 in MPI_Recv@a<b>.c:12 for 312 s');
  await accessible(page);
  collector.say('page', of({ minute: none, bins: [], why: 'no rank reported anything for 41 s' }, null));
  await expect.poll(said).toContain('last minute parallel efficiency – load balance – communication – no rank reported anything for 41 s');
  expect(await line.locator('.live-spark').count()).toBe(0);
  expect(errors).toEqual([]);
  await close();
});

test('says when bursts that are kept on the nodes will be shown, and what is known of them', async () => {
  const { collector, page, errors, close } = await watch();
  const survey = { surveyed: true, age_seconds: 2, units: 1234, bursts: 56789, burst_seconds: 12.5, agents: 3, silent_agents: 0, lost_bursts: 0, outside_bursts: 0, held_bytes: 1 << 20, error: '' };
  const of = (cells: object, more: object = {}) => ({
    ...pageOf(0, { clusters: { count: 0, bursts: 0, explained_share: 0, largest: [] }, cells, ...more }), clusters: [], points: [],
  });
  const said = async () => (await page.locator('.live .empty').allInnerTexts()).filter((s) => s.includes('micro-cells')).map((s) => s.replace(/\s/g, ' '));
  const why = 'with --cells the bursts stay on their nodes, as micro-cells.';
  const each = (rest: string) => ['The time profile', 'The clustering', 'The burst space'].map((what) => `${what} comes when the run ends: ${why} ${rest}`);

  collector.say('page', of({ ...survey, surveyed: false, units: 0, bursts: 0, agents: 0 }));
  await expect.poll(said).toEqual(each('How many there are is not known yet.'));
  collector.say('page', of({ ...survey, surveyed: false, error: 'no agent <i>answers</i>' }));
  await expect.poll(said).toEqual(each('How many there are is not known: no agent <i>answers</i>.'));
  collector.say('page', of(survey));
  const known = 'Known so far: 56,789 bursts with 12.5 s of computing, in 1,234 micro-cells, as 3 agents reported 2 s ago';
  await expect.poll(said).toEqual(each(`${known}.`));
  const head = (await page.locator('.live-head dl').innerText()).replace(/\s+/g, ' ');
  expect(head).toContain('micro-cells 1,234');
  expect(head).not.toContain('clusters');
  expect(await page.locator('.live svg.chart').count()).toBe(0);
  await accessible(page);
  collector.say('page', of({ ...survey, silent_agents: 1, lost_bursts: 7, outside_bursts: 2, error: 'gone' }));
  await expect.poll(said).toEqual(each(`${known}; 1 agent did not answer; 7 bursts lost; 2 bursts in no micro-cell; asking again failed: gone.`));

  collector.say('page', of(survey, { stage: 'done' }));
  collector.say('end', { directory: '/runs/3', error: '' });
  const main = page.locator('main');
  for (const what of ['The time profile', 'The clustering', 'The burst space']) await expect.poll(() => main.innerText()).toContain(`${what} is in the run's results.`);
  expect(await said()).toEqual([]);
  expect(errors).toEqual([]);
  await close();
});

test('a view of the results says that these come when the run ends', async () => {
  const { collector, page, errors, close } = await watch();
  const main = page.locator('main');
  const each = async (said: string) => {
    for (const view of ['Overview', 'Burst space', 'Timeline', 'Clusters', 'Refinement', 'Ranks']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      await expect.poll(() => main.innerText(), { message: view }).toContain(said);
    }
  };
  await each('This view comes when the run ends: it is drawn from the results. Live shows the run so far.');
  collector.say('page', pageOf(2, { cells: { surveyed: true, units: 12, bursts: 345, burst_seconds: 1, agents: 1, age_seconds: 0 } }));
  await each('This view comes when the run ends: with --cells the bursts stay on their nodes, as micro-cells. Known so far: 345 bursts');
  await page.getByRole('button', { name: 'Files', exact: true }).click();
  expect(await main.innerText()).not.toContain('This view comes');
  collector.say('end', { directory: '/runs/4', error: '' });
  await each("This view is in the run's results. Live says where these are.");
  expect(errors).toEqual([]);
  await close();
});

test('what a figure is stands there whole', async () => {
  const { collector, page, errors, close } = await watch();
  collector.say('page', pageOf(3));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 3 });
  const cut = await page.locator('.meters th').evaluateAll((all) => all.map((e) => e.scrollWidth > e.clientWidth || e.clientWidth < 90));
  expect(cut).toEqual([false, false, false, false, false]);
  expect(errors).toEqual([]);
  await close();
});

test('pauses, then shows what arrived in that time', async () => {
  const { collector, page, errors, close } = await watch();
  collector.say('page', pageOf(2));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 2 });
  await page.keyboard.press('p');
  expect(await page.getByRole('button', { name: 'Resume' }).getAttribute('aria-pressed')).toBe('true');
  collector.say('page', pageOf(9));
  await page.waitForTimeout(200);
  expect(await drawn(page)).toMatchObject({ bins: 2 });
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 9 });
  expect(errors).toEqual([]);
  await close();
});

test('what is no message of a collector changes nothing', async () => {
  const { collector, page, errors, close } = await watch();
  collector.say('page', pageOf(2));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 2 });
  collector.say('page', '{"health":');
  collector.say('page', '[1]');
  collector.say('page', '{"health":null,"profile":{"codes":"x","seconds":7},"clusters":[null],"points":[{"duration":"1e999"}],"overhead":{}}');
  await expect.poll(() => page.locator('main').innerText()).toContain('No burst has been clustered yet.');
  collector.say('page', pageOf(4));
  await expect.poll(() => drawn(page)).toMatchObject({ bins: 4 });
  expect(errors).toEqual([]);
  await close();
});

test('says when the end of the run failed', async () => {
  const { collector, page, errors, close } = await watch();
  collector.say('page', pageOf(2));
  collector.say('end', { directory: '/runs/2', error: 'disk full', hint: 'make room' });
  await expect.poll(() => page.locator('.live-end').innerText()).toContain('The end of the run failed: disk full');
  expect(await page.locator('.live-end').innerText()).toContain('make room');
  expect(errors).toEqual([]);
  await close();
});
