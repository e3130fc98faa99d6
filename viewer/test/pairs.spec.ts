// Who exchanged what with whom: dendrogram, matrix, plots, causes, and where ranks should lie.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadPack, PackError } from '../src/data/pack';
import { chainFrom } from '../src/pairs/chain';
import { messagesOf } from '../src/pairs/messages';
import { score } from '../src/format';
import { below, chosenOf, cut, find, givenCut, groupsOf, listed, modelOf, QUANTITIES, threadsOf, type Model } from '../src/pairs/model';
import { colourAt, gridOf, runsOf } from '../src/pairs/raster';
import { cutAt, timesOf } from '../src/pairs/tree';
import { lineText, rankName, ranksText, rowsOf, unplacedText } from '../src/pairs/words';
import { accessible, launch, open, report } from './browser';
import { packBytes } from './pack';
import { LATE, pairsOf, type PairsShape } from './pairs';
import { synthetic, type Shape } from './synthetic';
import { tableOf } from './waits';

const make = (shape: PairsShape, more: Partial<Shape> = {}) => synthetic({ ranks: shape.ranks, iterations: 10, clusters: 2, pairs: pairsOf(shape), ...more });
const eight: PairsShape = { ranks: 8, perNode: 4, groups: 2 };

function must<T>(v: T | null | undefined): T {
  if (v === null || v === undefined) throw new Error('it is not there');
  return v;
}

const modelFor = (shape: PairsShape): Model => must(modelOf(loadPack(make(shape).bytes)));
const plain = (text: string) => text.replace(/\s+/g, ' ').trim();

describe('data', () => {
  test('ranks, pairs and clusters are found again', () => {
    const m = modelFor(eight);
    expect([m.ranks, m.pairs, m.left.length]).toEqual([8, 8, 7]);
    expect([find(m, 2, 3), find(m, 3, 2)].map((i) => [m.a[i], m.b[i]])).toEqual([[2, 3], [2, 3]]);
    expect(find(m, 0, 4)).toBe(-1);
    expect(Array.from(m.order).map((r) => m.place[r])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (let i = 0; i < m.left.length; i++) {
      const [l, r] = [must(m.left[i]), must(m.right[i])];
      expect(m.size[8 + i]).toBe(must(m.size[l]) + must(m.size[r]));
      expect(Math.abs(must(m.begin[l]) - must(m.begin[r]))).toBe(m.size[must(m.begin[l]) < must(m.begin[r]) ? l : r]);
    }
    expect(modelOf(loadPack(make(eight, { page: { pairs: null } }).bytes))).toBeNull();
  });

  const damaged: [string, (c: Record<string, Int32Array | Float64Array>, json: Record<string, unknown>) => void, RegExp][] = [
    ['a short column', (c) => (c['pairs.each.bytes'] = new Float64Array(3)), /pairs\.each\.bytes has 3 rows, not 8/],
    ['a missing column', (c) => delete c['pairs.merge.height'], /pairs\.merge\.height has 0 rows, not 7/],
    ['a pair of no rank', (c) => (must(c['pairs.each.b'])[7] = 8), /pair 7 is of ranks that are none/],
    ['a pair of one rank', (c) => (must(c['pairs.each.a'])[0] = 1), /pair 0 is of ranks that are none/],
    ['a negative rank', (c) => (must(c['pairs.each.a'])[0] = -1), /pair 0 is of ranks/],
    ['a broken index', (c) => (c['pairs.each.a'] = Float64Array.from(must(c['pairs.each.a']), (v) => v + 0.5)), /pair 0 is of ranks/],
    ['no such node', (c) => (must(c['pairs.rank.node'])[1] = 2), /on an unknown node/],
    ['no such advice', (c) => (must(c['pairs.rank.advised'])[1] = 99), /on an unknown node/],
    ['no such group', (c) => (must(c['pairs.rank.group'])[1] = 2), /in an unknown group/],
    ['sizes of no pair', (c) => (must(c['pairs.size.pair'])[0] = 8), /sizes are of an unknown pair/],
    ['a leaf twice', (c) => (must(c['pairs.order'])[0] = must(must(c['pairs.order'])[1])), /order of the dendrogram/],
    ['a short order', (c) => (c['pairs.order'] = new Int32Array(7)), /pairs\.order has 7 rows, not 8/],
    ['a cluster joined with itself', (c) => (must(c['pairs.merge.left'])[0] = must(must(c['pairs.merge.right'])[0])), /merge 0 of the dendrogram cannot be/],
    ['a cluster joined twice', (c) => (must(c['pairs.merge.left'])[1] = must(must(c['pairs.merge.left'])[0])), /merge 1 of the dendrogram/],
    ['a cluster of the future', (c) => (must(c['pairs.merge.right'])[0] = 14), /merge 0 of the dendrogram cannot be/],
    ['a height of 0', (c) => (must(c['pairs.merge.height'])[0] = 0), /merge 0 of the dendrogram cannot be/],
    ['an invalid height', (c) => (must(c['pairs.merge.height'])[3] = NaN), /merge 3 of the dendrogram cannot be/],
    ['heights in no order', (c) => (must(c['pairs.merge.height'])[6] = 1e-9), /merge 6 of the dendrogram cannot be/],
    ['leaves of a cluster apart', (c) => (c['pairs.order'] = Int32Array.of(2, 0, 3, 1, 4, 5, 6, 7)), /do not lie side by side/],
  ];
  test.each(damaged)('%s is reported', (_, damage, said) => {
    const data = pairsOf(eight);
    damage(data.columns, data.json);
    const bytes = () => loadPack(synthetic({ ranks: 8, iterations: 3, clusters: 2, pairs: data }).bytes);
    expect(bytes).toThrow(PackError);
    expect(bytes).toThrow(said);
  });

  test('fields that are missing or of another type become defaults, and ranks that are none have no name', () => {
    const pack = loadPack(packBytes({ format: 1, pairs: { totals: 'many', groups: {}, findings: [{ ranks: 'all', pairs: [3, null], text: 7 }], causes: [{ rank: 99, pair: null }], placement: [] } }, {}));
    const p = must(pack.json.pairs);
    expect([p.totals?.pairs, p.groups, p.findings[0]?.ranks, p.findings[0]?.pairs]).toEqual([0, [], [], [[0, 0], [0, 0]]]);
    expect(rankName(must(modelOf(pack)), 99)).toBe('an unknown rank');
  });

  test('where there is no placement, it says why, and how to ask for one', () => {
    const said = (perNode: number, why: string[]) => unplacedText({ ...modelFor({ ranks: 8, perNode }).json, why, placement: null });
    expect(said(8, [])).toContain('moriens pairs DIR --ranks-per-node N');
    expect(said(4, ['late times are not known'])).toBe('No advice: ranks exchange nothing that could go between nodes.');
    expect(said(4, ['late times are not known', 'placement: none is computed for 5,001 ranks: moriens pairs --weigh bytes DIR'])).toBe('None is computed for 5,001 ranks: moriens pairs --weigh bytes DIR.');
  });

  test('a cut leaves groups, and the modularity is that of its definition', () => {
    const m = modelFor({ ranks: 6, perNode: 6 });
    for (let merges = 0; merges <= m.left.length; merges++) {
      const c = cut(m, merges);
      expect(c.groups).toBe(6 - merges);
      // Newman: the sum over all pairs of ranks in one group of w - d d / 2W, over 2W.
      const weight = (a: number, b: number) => (a === b ? 0 : find(m, a, b) < 0 ? 0 : must(m.blocked[find(m, a, b)]));
      const all = [0, 1, 2, 3, 4, 5];
      const degree = all.map((a) => all.reduce((sum, b) => sum + weight(a, b), 0));
      const twice = degree.reduce((x, y) => x + y);
      let q = 0;
      for (const a of all) for (const b of all) if (a === b || (must(c.label[a]) >= 0 && c.label[a] === c.label[b])) q += weight(a, b) - (must(degree[a]) * must(degree[b])) / twice;
      expect(c.modularity).toBeCloseTo(q / twice, 12);
      expect(below(m, merges === 0 ? Infinity : 1 / must(m.height[merges - 1]))).toBe(merges);
    }
    expect(groupsOf(m, cut(m, 5))).toMatchObject([{ number: 0, ranks: [0, 1, 2, 3, 4, 5] }]);
    expect(groupsOf(m, cut(m, 0))).toEqual([]);
    const [first] = groupsOf(m, cut(m, 1));
    expect(first?.ranks).toEqual([LATE, LATE + 1]);
    const times = timesOf(m);
    expect([0, 1, 2, 3, 4, 5].map((k) => cutAt(m, k, times)).every((x, k, all) => x > 0 && x < 1 && (k === 0 || x < must(all[k - 1])))).toBe(true);
  });

  test('without a choice the groups are those of the file', () => {
    const m = modelFor(eight);
    const given = givenCut(m);
    expect(given).toMatchObject({ groups: 2, modularity: 0.42, given: true });
    expect(groupsOf(m, given).map((g) => g.ranks)).toEqual([[0, 1, 2, 3], [4, 5, 6, 7]]);
    expect(givenCut(modelFor({ ranks: 8, perNode: 4 }))).toMatchObject({ groups: 1, modularity: 0.05 });
  });

  test('cells hold all pairs, each both ways, alone or several together', () => {
    const m = modelFor({ ranks: 64, perNode: 16, reach: 3 });
    const whole = { from: 0, to: 64 };
    const total = m.pairs * 2;
    const [blocked, , bytes, , size] = QUANTITIES;
    const single = gridOf(m, m.place, whole, whole, 64, blocked, false);
    expect([single.each, single.wide, single.high]).toEqual([1, 64, 64]);
    expect(single.pairs.reduce((a, b) => a + b)).toBe(total);
    expect(single.most).toBe(must(m.blocked[find(m, LATE, LATE + 1)]));
    const cell = must(m.place[LATE]) * 64 + must(m.place[LATE + 1]);
    expect([single.value[cell], single.best[cell]]).toEqual([single.most, find(m, LATE, LATE + 1)]);
    const joined = gridOf(m, m.place, whole, whole, 10, must(bytes), true);
    expect([joined.each, joined.wide]).toEqual([7, 10]);
    // On the diagonal both ways are one.
    const inside = Array.from({ length: m.pairs }, (_, i) => Number(Math.floor(must(m.place[must(m.a[i])]) / 7) === Math.floor(must(m.place[must(m.b[i])]) / 7))).reduce((a, b) => a + b);
    expect(joined.pairs.reduce((a, b) => a + b)).toBe(total - inside);
    joined.value.forEach((v, i) => expect(Number.isNaN(v) ? 0 : v).toBe(must(joined.pairs[i]) * must(m.bytes[0])));
    expect(gridOf(m, m.place, whole, whole, 10, must(size), true).most).toBe(must(m.bytes[0]) / must(m.messages[0]));
    const part = gridOf(m, m.place, { from: 10, to: 20 }, { from: 30, to: 64 }, 64, blocked, false);
    for (let row = 0; row < 10; row++) for (let column = 0; column < 34; column++) expect(part.pairs[row * part.wide + column]).toBe(single.pairs[(row + 10) * 64 + column + 30]);
  });

  test('what is not known has a colour of its own, and more is another colour than less', () => {
    for (const theme of ['light', 'dark'] as const) {
      expect(new Set([NaN, 1, 10, 100, 1000].map((v) => colourAt(v, 1, 1000, theme).join())).size).toBe(5);
      expect(colourAt(0, 1, 1000, theme)).toEqual(colourAt(1, 1, 1000, theme));
      expect(colourAt(5, 5, 5, theme)).toEqual(colourAt(1000, 1, 1000, theme));
    }
    expect(runsOf([3, 1, 0, 2], [4, 7, -1, 7])).toEqual([{ from: 0, to: 2, value: 7 }, { from: 2, to: 3, value: 4 }]);
  });

  test('pairs are those of a selected rank, or those between several', () => {
    const pack = loadPack(make(eight).bytes);
    const m = must(modelOf(pack));
    const of = (threads: [number, number][] | null) => listed(m, chosenOf(m, threads)).map((i) => `${m.a[i]}-${m.b[i]}`);
    expect(of(null)).toHaveLength(8);
    expect(of([[2, 2]])).toEqual(['1-2', '2-3']);
    expect(of([[2, 4]])).toEqual(['2-3', '3-4']);
    expect(of([[2, 2], [5, 5]])).toEqual([]);
    expect(of([[500, 600]])).toEqual([]);
    expect(threadsOf(m, [3, 2, 7])).toEqual([[2, 3], [7, 7]]);
    // The page has messages of ranks 0 to 3, each to the next.
    expect(messagesOf(pack, m, [find(m, 0, 1)]).length).toBe(4);
    expect(messagesOf(pack, m, [find(m, 5, 6)])).toEqual([]);
  });

  test('words say who, what, and how sure it is', () => {
    const m = modelFor({ ...eight, exact: false });
    const said = (i: number) => Object.fromEntries(rowsOf(m, i).map(([name, v]) => [name, plain(v)]));
    expect(said(find(m, LATE, LATE + 1))).toMatchObject({ where: 'within one node', messages: '300', 'late sender': '400 ms ± 30 ms', 'late receiver': '200 ms ± 10 ms' });
    expect(said(find(m, 3, 4))).toMatchObject({ where: 'between nodes', 'late sender': 'not known' });
    expect(ranksText(m, [0, 1, 2, 3, 7])).toBe('ranks 0–3, 7');
    const [within, between] = m.json.lines;
    expect(plain(lineText(must(within)))).toBe('Within nodes a message takes 1.2 µs and its size at 8.38 GiB/s (4,000 transfers that did not wait for their receiver, 12 % off the line in the median).');
    expect(plain(lineText({ ...must(between), latency_seconds: NaN }))).toContain('Between nodes: too few sizes or transfers for a line');
    expect(plain(lineText({ ...must(between), bytes_per_second: NaN }))).toContain('a message takes 4 µs whatever its size');
  });

  test('waits are followed to those that they are handed on to, and no circle is', () => {
    const rank = (n: number) => ({ world: 0, rank: n, thread: 0 });
    const link = (waiting: number, of: number, s: number, handed: number) => ({ waiting: rank(waiting), for: rank(of), count: 1, seconds: s, computing_seconds: 0, mpi_seconds: 0, outside_seconds: 0, handed_on_seconds: handed });
    const links = [link(7, 6, 3, 0), link(5, 6, 1, 0), link(11, 7, 2, 1.5), link(12, 7, 5, 0.5), link(6, 11, 9, 9), link(7, 11, 9, 9)];
    expect(chainFrom(links, rank(6)).map((s) => [s.who.rank, s.seconds])).toEqual([[7, 3], [11, 1.5]]);
    expect(chainFrom(links, rank(99))).toEqual([]);
  });
});

interface Drawn {
  ranks: number;
  pairs: number;
  each: number;
  rows: { from: number; to: number };
  columns: { from: number; to: number };
  quantity: string;
  groups: number;
  modularity: number;
  cells: number;
  side: number;
  left: number;
  top: number;
}

describe('page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const drawn = async (page: Page, good: (d: Drawn) => boolean = () => true): Promise<Drawn> => {
    const read = async () => (await page.evaluate(() => window.__moriens?.drawn['pairs'])) as Drawn | undefined;
    await expect.poll(async () => { const d = await read(); return d ? good(d) : false; }).toBe(true);
    return must(await read());
  };
  const panel = (page: Page, title: string) => page.locator('.panel', { has: page.getByRole('heading', { name: title, exact: true }) });
  const texts = async (page: Page, title: string) => (await panel(page, title).locator('tbody tr').allInnerTexts()).map(plain);
  const hash = (page: Page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());
  // cell is where the cell of two ranks lies on the screen.
  const cell = async (page: Page, m: Model, row: number, column: number) => {
    const box = must(await page.locator('canvas.cells').boundingBox());
    const at = (r: number) => ((must(m.place[r]) + 0.5) * box.width) / m.ranks;
    return { x: box.x + at(column), y: box.y + at(row) };
  };

  test.each(['light', 'dark'] as const)('findings come first, then all that was exchanged, %s', async (colorScheme) => {
    const link = (waiting: number, of: number, s: number, handed: number) => ({ waiting: { world: 0, rank: waiting, thread: 0 }, for: { world: 0, rank: of, thread: 0 }, count: 1, seconds: s, handed_on_seconds: handed });
    const waits = { whole_run: { ...tableOf(8, 1), links: [link(LATE + 1, LATE, 0.4, 0), link(LATE + 2, LATE + 1, 0.2, 0.1)] } };
    const { page, errors, close } = await open(browser, report(make(eight, { waits }).bytes), 'view=pairs&probe=1', { colorScheme });
    const d = await drawn(page);
    expect(d).toMatchObject({ ranks: 8, pairs: 8, each: 1, cells: 16, groups: 2, quantity: 'blocked' });
    expect(await page.locator('.panel h2').first().innerText()).toBe('What stands out among pairs');
    expect(plain(await page.locator('.pairs-findings li').first().innerText())).toContain('late sender Rank 2 makes others wait 400 ms');
    expect(plain(await page.locator('.pairs-findings li').first().innerText())).toContain('Give other ranks part of its work, or send earlier; moriens waits --by callpath DIR.');
    expect(plain(await page.locator('.totals').innerText())).toContain('8 pairs of 8 ranks exchanged 2,400 messages');
    expect(plain(await page.locator('.totals').innerText())).toContain('exact: of every message');
    await page.waitForSelector('.listing-sizes');
    expect(await texts(page, 'Groups of ranks')).toEqual([expect.stringMatching(/^ranks 0–3 4 /), expect.stringMatching(/^ranks 4–7 4 /)]);
    expect((await texts(page, 'Pairs'))[0]).toMatch(/^rank 2 on n1 rank 3 on n1 one node .* 400 ms /);
    expect(await texts(page, 'Sizes of messages')).toEqual([expect.stringMatching(/^128–255 800 /), expect.stringMatching(/^4,096–8,191 800 /), expect.stringMatching(/^65,536–131,071 800 /)]);
    expect(await texts(page, 'Calls that receive')).toEqual([expect.stringMatching(/^MPI_Wait@halo\.c:51 2,400 /)]);
    expect((await texts(page, 'Where waits come from'))[0]).toMatch(/^rank 2 → rank 3 → rank 4 98.3 % /);
    expect((await texts(page, 'Where waits come from'))[1]).toMatch(/^transfers between rank 2 and rank 3 /);
    expect(plain(await panel(page, 'Placement of ranks on nodes').innerText())).toMatch(/between nodes down to .* \(−50 %\), which saves about 10 ms.* moriens pairs DIR --order FILE --order-format mpich/);
    await accessible(page);
    expect(errors).toEqual([]);
    await close();
  });

  test('a click on a cell selects both ranks everywhere, and what is listed follows', async () => {
    const bytes = make(eight, { waits: {} }).bytes;
    const m = must(modelOf(loadPack(bytes)));
    const { page, errors, close } = await open(browser, report(bytes), 'view=pairs&probe=1');
    await drawn(page);
    const at = await cell(page, m, 3, 2);
    await page.mouse.move(at.x, at.y);
    await expect.poll(async () => plain(await page.locator('.tip').innerText())).toMatch(/^rank 2 on n1 and rank 3 on n1 .*late sender\s*400 ms/);
    await page.mouse.click(at.x, at.y);
    await expect.poll(() => hash(page)).toContain('threads=2-3');
    await expect.poll(() => texts(page, 'Pairs')).toHaveLength(1);
    expect(await panel(page, 'Pairs').locator('tr.chosen').count()).toBe(1);
    expect(await page.locator('.selection').innerText()).toContain('ranks 2–3');
    expect(plain(await panel(page, 'Size and time over run time').innerText())).toContain('from rank 2 to rank 3');
    const none = await cell(page, m, 0, 4);
    await page.mouse.move(none.x, none.y);
    await expect.poll(async () => plain(await page.locator('.tip').innerText())).toBe('rank 0 on n1 and rank 4 on n2 No messages.');
    const again = await cell(page, m, 3, 2); // what is selected stands above
    await page.mouse.click(again.x, again.y);
    await expect.poll(() => hash(page)).not.toContain('threads');
    await panel(page, 'Groups of ranks').getByRole('button', { name: 'ranks 4–7' }).click();
    await expect.poll(() => texts(page, 'Pairs')).toHaveLength(3);
    expect(errors).toEqual([]);
    await close();
  });

  test('keys move over cells, zoom, and cut', async () => {
    const { page, errors, close } = await open(browser, report(make(eight).bytes), 'view=pairs&probe=1');
    await drawn(page);
    const area = page.getByRole('application', { name: /Matrix of ranks/ });
    await area.focus();
    for (const key of ['ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    await page.keyboard.press('Enter');
    await expect.poll(() => hash(page)).toContain('threads=');
    await page.keyboard.press('w');
    await drawn(page, (d) => d.rows.to - d.rows.from < 8);
    await page.keyboard.press('0');
    await drawn(page, (d) => d.rows.to - d.rows.from === 8);
    const slider = page.getByRole('slider', { name: 'Cut of the dendrogram' });
    await slider.focus();
    await page.keyboard.press('End');
    await drawn(page, (d) => d.groups === 8);
    await expect.poll(() => hash(page)).toContain('cut=8');
    await page.keyboard.press('ArrowLeft');
    await drawn(page, (d) => d.groups === 7);
    expect(await slider.getAttribute('aria-valuenow')).toBe('7');
    await expect.poll(() => texts(page, 'Groups of ranks')).toEqual([expect.stringMatching(/^ranks 2–3 2 /)]);
    await page.keyboard.press('Home');
    await drawn(page, (d) => d.groups === 1);
    await page.getByRole('button', { name: 'Groups as found' }).click();
    await drawn(page, (d) => d.groups === 2 && d.modularity === 0.42);
    await page.getByRole('button', { name: 'Keys and help' }).click();
    expect(await page.locator('dialog').innerText()).toContain('zoom in and out in the matrix');
    expect(errors).toEqual([]);
    await close();
  });

  test('the cut is dragged, the matrix zooms into what is dragged over and by the wheel', async () => {
    const bytes = make({ ranks: 64, perNode: 16, reach: 2, groups: 4 }).bytes;
    const { page, errors, close } = await open(browser, report(bytes), 'view=pairs&probe=1');
    const d = await drawn(page);
    const handle = must(await page.locator('.pairs-handle').boundingBox());
    await page.mouse.move(handle.x + 6, handle.y + handle.height / 2);
    await page.mouse.down();
    await page.mouse.move(handle.x + 60, handle.y + handle.height / 2, { steps: 4 });
    await page.mouse.move(handle.x + 120, handle.y + handle.height / 2, { steps: 4 });
    await page.mouse.up();
    const m = must(modelOf(loadPack(bytes)));
    await drawn(page, (n) => n.groups > d.groups && Math.abs(n.modularity - cut(m, 64 - n.groups).modularity) < 1e-9);
    const box = must(await page.locator('canvas.cells').boundingBox());
    const at = (place: number) => ((place + 0.5) * box.width) / 64; // the middle of a row or column
    await page.mouse.move(box.x + at(16), box.y + at(32));
    await page.mouse.down();
    await page.mouse.move(box.x + at(31), box.y + at(63), { steps: 5 });
    await page.mouse.up();
    await expect.poll(async () => { const { rows, columns } = await drawn(page); return [rows, columns]; }).toEqual([{ from: 32, to: 64 }, { from: 16, to: 32 }]);
    await page.getByRole('button', { name: 'Show all ranks' }).click();
    await drawn(page, (n) => n.rows.to - n.rows.from === 64);
    await page.mouse.move(box.x + 10, box.y + 10);
    await page.mouse.wheel(0, -300);
    await drawn(page, (n) => n.rows.from === 0 && n.rows.to < 64 && n.columns.to < 64);
    expect(errors).toEqual([]);
    await close();
  });

  test('colours, orders and sums are chosen, and a row of 16,384 ranks is several', async () => {
    const ranks = 16_384;
    const { page, errors, close } = await open(browser, report(make({ ranks, perNode: 128, reach: 13, groups: 8 }, { iterations: 1, page: { pairs: pairsOf({ ranks, perNode: 128, reach: 13, groups: 8 }).json } }).bytes), 'view=pairs&probe=1');
    const d = await drawn(page);
    expect(d).toMatchObject({ ranks, pairs: 13 * ranks, groups: 8 });
    expect(d.each).toBe(Math.ceil(ranks / d.side));
    await panel(page, 'Dendrogram and matrix of ranks').getByLabel('Cells of several ranks').selectOption('sum');
    await panel(page, 'Dendrogram and matrix of ranks').getByLabel('Colour').selectOption('bytes');
    await drawn(page, (n) => n.quantity === 'bytes');
    await panel(page, 'Dendrogram and matrix of ranks').getByLabel('Order').selectOption('node');
    await expect.poll(() => page.getByRole('slider').count()).toBe(0);
    const box = must(await page.locator('canvas.cells').boundingBox());
    await page.mouse.move(box.x + 0.4, box.y + 0.4);
    await expect.poll(async () => plain(await page.locator('.tip').innerText())).toMatch(/^ranks 0–\d+ × ranks 0–\d+ pairs .* bytes, together .* Most has rank \d+ with rank \d+/);
    await page.waitForSelector('.listing-sizes');
    expect(await page.locator('.listing-pairs tbody tr').count()).toBe(10);
    await panel(page, 'Pairs').getByRole('button', { name: '1,000 more of 212,992 rows' }).click();
    await expect.poll(() => page.locator('.listing-pairs tbody tr').count()).toBe(1000);
    expect(errors).toEqual([]);
    await close();
  });

  test('the table of pairs sorts', async () => {
    const { page, errors, close } = await open(browser, report(make(eight).bytes), 'view=pairs');
    await page.waitForSelector('.listing-sizes');
    const head = panel(page, 'Pairs').locator('thead button', { hasText: 'Rank' });
    await head.click();
    expect((await texts(page, 'Pairs')).map((s) => s.slice(0, 6))).toEqual(['rank 0', 'rank 0', 'rank 1', 'rank 2', 'rank 3', 'rank 4', 'rank 5', 'rank 6']);
    expect(await panel(page, 'Pairs').locator('th[aria-sort]').getAttribute('aria-sort')).toBe('ascending');
    await head.click();
    expect((await texts(page, 'Pairs'))[0]).toMatch(/^rank 6/);
    expect(errors).toEqual([]);
    await close();
  });

  test('points select pairs, and messages the place on the timeline where they are', async () => {
    const bytes = make(eight).bytes;
    const { page, errors, close } = await open(browser, report(bytes), 'view=pairs&threads=2-3');
    await page.waitForSelector('.listing-sizes');
    const over = page.getByRole('application', { name: /^Time over size/ });
    await over.focus();
    await page.keyboard.press('ArrowRight');
    expect(plain(await panel(page, 'Time over size').getByRole('status').last().innerText())).toMatch(/^rank 2 on n1 and rank 3 on n1: messages 100, mean size 128 B/);
    await panel(page, 'Time over size').getByLabel('Points').selectOption('messages');
    await page.getByRole('application', { name: /^Time over run time/ }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.timeline');
    const pack = loadPack(bytes);
    const m = must(modelOf(pack));
    const row = must(messagesOf(pack, m, [find(m, 2, 3)])[0]);
    await expect.poll(() => hash(page)).toContain(`from=${must(pack.column('messages.sent_ns')[row])}&to=${must(pack.column('messages.received_ns')[row])}`);
    expect(errors).toEqual([]);
    await close();
  });

  test('estimates are said to be some, and what is left out is said', async () => {
    const json = { why: ['rank 5 has no record'], left_out: { pairs: 3, messages: 30, bytes: 3000, blocked_seconds: 0.25, sizes: 2 }, groups_follow_topology: true, groups: [], modularity: 0.69, topology_modularity: 0.68, findings: [] };
    const data = pairsOf({ ranks: 8, perNode: 4, exact: false, json });
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 3, clusters: 2, pairs: data }).bytes), 'view=pairs');
    await page.waitForSelector('.listing-sizes');
    const said = plain(await page.locator('.pairs-findings').innerText());
    for (const words of ['Nothing: no rank, pair or node stands out.', 'Late senders: 407 ms ± 50 ms', 'estimated', 'Rank 5 has no record.', '± is the standard error of an estimate. Messages, bytes and blocked times are exact.', 'no room for 3 pairs with the least blocked time: 30 messages', '250 ms blocked']) expect(said).toContain(words);
    expect(plain(await panel(page, 'Groups of ranks').innerText())).toContain('Groups follow the topology: times add nothing to who talks to whom (modularity 0.69, 0.68 if all pairs took equally long).');
    expect((await texts(page, 'Pairs'))[0]).toMatch(/400 ms ± 30 ms 200 ms ± 10 ms/);
    expect((await texts(page, 'Pairs'))[1]).toContain('not known');
    expect(plain(await panel(page, 'Time over size').innerText())).toContain('2 pairs with the least blocked time have their mean only');
    expect(errors).toEqual([]);
    await close();
  });

  test('without causes the view says how to know them, and a modularity is never a negative zero', async () => {
    const { totals } = pairsOf({ ranks: 8, perNode: 4 }).json as { totals: object };
    const json = { causes: [], findings: [], groups: [], modularity: -1e-17, topology_modularity: 0, totals: { ...totals, late_sender_seconds: null, late_receiver_seconds: null } };
    const data = pairsOf({ ranks: 8, perNode: 4, exact: false, json });
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 3, clusters: 2, pairs: data }).bytes), 'view=pairs&cut=1');
    await page.waitForSelector('.listing-sizes');
    const said = plain(await page.locator('.pairs-findings').innerText());
    for (const words of ['Which rank makes others wait is not known: moriens run --keep-bursts all.', 'Late senders and receivers: not known. Waits in collectives']) expect(said).toContain(words);
    expect(said).not.toContain('estimate');
    expect(plain(await panel(page, 'Where waits come from').innerText())).toContain('Not known: that needs every message');
    expect(score(-1e-17)).toBe('0.00');
    expect(score(-0.004)).toBe('0.00');
    expect(score(-0.006)).toBe('-0.01');
    expect(errors).toEqual([]);
    await close();
  });

  test.each([8, 16384])('%i ranks: what is below the picture is there where the browser draws no frame', async (ranks) => {
    const still = (html: string) => html.replace('<head>', '<head><script>window.requestAnimationFrame = () => 0</script>');
    const { page, errors, close } = await open(browser, still(report(make({ ranks, perNode: 4 }).bytes)), 'view=pairs&probe=1');
    await page.waitForSelector('.listing-sizes');
    expect(await page.evaluate(() => window.__moriens?.drawn['pairs'])).toBeUndefined();
    expect(errors).toEqual([]);
    await close();
  });

  test('where there are no pairs the view says why', async () => {
    const empty = (json: Record<string, unknown>, ranks: number) => {
      const data = pairsOf({ ranks, perNode: ranks, json });
      return synthetic({ ranks: Math.max(2, ranks), iterations: 3, clusters: 2, pairs: data }).bytes;
    };
    const silent = pairsOf({ ranks: 1, perNode: 1 });
    const cases: [Buffer, RegExp][] = [
      [synthetic({ ranks: 2, iterations: 3, clusters: 2 }).bytes, /no pairs\.json\..*moriens report DIR/],
      [empty({ totals: null, why: ['the bursts stay on their nodes'] }, 4), /not known: the bursts stay on their nodes\./],
      [empty({}, 1), /^One rank: there are no pairs\./],
      [synthetic({ ranks: 2, iterations: 3, clusters: 2, pairs: { ...silent, columns: { ...silent.columns, ...Object.fromEntries(['world', 'node', 'group', 'advised'].map((c) => [`pairs.rank.${c}`, new Int32Array(2)])), 'pairs.rank.rank': Int32Array.of(0, 1), 'pairs.order': Int32Array.of(0, 1) }, json: { ...silent.json, groups: [{ blocked_seconds: 0 }] } } }).bytes, /No two ranks exchanged messages/],
    ];
    for (const [bytes, words] of cases) {
      const { page, errors, close } = await open(browser, report(bytes), 'view=pairs');
      expect(plain(await page.locator('main').innerText())).toMatch(words);
      expect(errors).toEqual([]);
      await close();
    }
  });
});
