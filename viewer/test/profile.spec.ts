// The view Profile: what ran in what, ranks in a phase, instances of a phase.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadPack, PackError } from '../src/data/pack';
import { keptOf, perPixel, pointsOf, timeOf } from '../src/flame/instances';
import { below, frameOf, fullName, imbalance, kindsIn, layout, matching, NARROW, pathOf, splitPath, stackOf, timeOf as shareOf, treeOf, type Tree } from '../src/flame/model';
import { columnsOf, meanIn, MOST_SERIES, seriesOf } from '../src/flame/stacks';
import { accessible, launch, open, report } from './browser';
import { packBytes } from './pack';
import { instanceNS, leavesOf, profileOf, type ProfileShape } from './profile';
import { synthetic } from './synthetic';

const make = (shape: ProfileShape, more: Record<string, unknown> = {}) => synthetic({ ranks: shape.ranks, iterations: 92, clusters: 3, profile: profileOf(shape), ...more }).bytes;
const eight: ProfileShape = { ranks: 8, instances: 92 };
const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
const tree = (bytes: Uint8Array, by: 'phase' | 'path'): Tree => treeOf(loadPack(bytes), by)!;

describe('data', () => {
  test('frames have the sums of the rows of profile.parquet', () => {
    const t = tree(make(eight), 'phase');
    const leaves = leavesOf(eight);
    const within = (path: string) => leaves.filter((l) => path === '' || l.path === path || l.path.startsWith(`${path}/`));
    const sum = (of: typeof leaves) => of.reduce((a, l) => a + [0, 1, 2, 3, 4, 5, 6, 7].reduce((b, r) => b + l.ns(r), 0), 0);
    for (const path of ['', 'setup', 'iterate', 'iterate/heat', 'iterate/stress']) {
      const i = frameOf(t, path);
      expect(pathOf(t, i)).toBe(path);
      expect(t.ns[i]).toBe(sum(within(path)));
      expect(t.own[i]).toBe(sum(leaves.filter((l) => l.path === path)));
    }
    // Without those in them, phases add up to the program.
    expect([...t.own].filter((_, i) => ['program', 'phase'].includes(t.type[i]!)).reduce((a, b) => a + b)).toBe(t.ns[0]);
    const stress = frameOf(t, 'iterate/stress/cluster 2');
    expect(imbalance(t, stress)).toBeCloseTo(3 / (10 / 8), 12);
    expect([t.whose[stress], kindsIn(t, 0)]).toEqual([7, [1, 2, 3]]);
    const calls = tree(make(eight), 'path');
    expect(calls.ns[0]).toBe(t.ns[0]);
    const send = frameOf(calls, 'main/iterate/stress/MPI_Send@stress.c:31');
    // Of a frame of which classes of ranks alone are known the imbalance is not.
    const unknown = (v: number) => Array.from(calls.ns, () => v);
    expect([imbalance(calls, send) > 0, imbalance({ ...calls, most: unknown(NaN), whose: unknown(-1), threads: unknown(-1) }, send)]).toEqual([true, NaN]);
    expect([fullName(calls, send), calls.ns[send], calls.calls[send], calls.calls[frameOf(calls, 'main')]]).toEqual(['MPI_Send@stress.c:31', 160_000, 736, NaN]);
  });

  test('names with odd characters are found again by their text', () => {
    const names = ['he/at <b>"x"\\', '…/大 > |'] as const;
    const t = tree(make({ ranks: 2, names }), 'phase');
    for (let i = 0; i < t.n; i++) expect(frameOf(t, pathOf(t, i))).toBe(i);
    expect(t.label.filter((l) => names.includes(l as (typeof names)[0]))).toEqual([...names]);
    expect(splitPath('a\\/b/c\\\\/')).toEqual(['a/b', 'c\\', '']);
    expect(splitPath('')).toEqual([]);
    expect(frameOf(t, 'iterate/no such/x')).toBe(frameOf(t, 'iterate'));
  });

  test('frames of one name beside each other have texts of their own', () => {
    const { json, columns } = profileOf({ ranks: 1 });
    const name = columns['profile.phase.name']!;
    const t0 = tree(make({ ranks: 1 }), 'phase');
    name[frameOf(t0, 'iterate')] = name[frameOf(t0, 'setup')]!;
    const t = tree(synthetic({ ranks: 1, iterations: 2, clusters: 3, profile: { json, columns } }).bytes, 'phase');
    expect(new Set(t.children[0]!.map((i) => t.key[i])).size).toBe(t.children[0]!.length);
    for (let i = 0; i < t.n; i++) expect(frameOf(t, pathOf(t, i))).toBe(i);
  });

  test('a frame is as wide as its time, lies within the one round it, and narrow ones are one', () => {
    const t = tree(make(eight), 'phase');
    for (const root of [0, frameOf(t, 'iterate'), frameOf(t, 'iterate/stress/cluster 2')]) {
      const { boxes, rows } = layout(t, root, 900);
      const of = new Map(boxes.filter((b) => b.several === 0).map((b) => [b.frame, b]));
      expect(stackOf(t, root).map((i) => of.get(i)).every((b) => b?.x === 0 && b.width === 900)).toBe(true);
      expect(Math.max(...boxes.map((b) => b.row))).toBe(rows - 1);
      for (const b of boxes) {
        if (b.row < stackOf(t, root).length) continue;
        const up = of.get(t.parent[b.frame]!)!;
        expect(b.row).toBe(up.row + 1);
        expect(b.x).toBeGreaterThanOrEqual(up.x - 1e-9);
        expect(b.x + b.width).toBeLessThanOrEqual(up.x + up.width + 1e-6);
        expect(b.width).toBeCloseTo((b.ns / t.ns[root]!) * 900, 9);
      }
      if (root === 0) expect(below(t, root).filter((i) => !of.has(i)).every((i) => (t.ns[i]! / t.ns[root]!) * 900 < NARROW)).toBe(true);
    }
  });

  test('what is looked for counts once', () => {
    const t = tree(make(eight), 'path');
    const found = matching(t, ' ITERATE ')!;
    expect([...found].map((i) => t.label[i])).toEqual(['iterate']);
    expect(shareOf(t, found, 0)).toBe(t.ns[frameOf(t, 'main/iterate')]);
    const all = new Set(below(t, 0));
    expect(shareOf(t, all, 0)).toBe(t.ns[0]);
    expect(matching(t, '  ')).toBeNull();
    expect(shareOf(t, matching(t, 'stress.c')!, 0)).toBe(480_000_000 - 80_000_000 / 2 + 160_000);
  });

  test('bars add up to the phase, by phase and by what is in it, for each rank', () => {
    const pack = loadPack(make(eight));
    const t = treeOf(pack, 'phase')!;
    const leaves = leavesOf(eight);
    for (const path of ['', 'iterate', 'iterate/stress']) {
      const scope = frameOf(t, path);
      for (const phases of [true, false]) {
        const series = seriesOf(pack, t, scope, phases);
        for (let r = 0; r < 8; r++) {
          const want = leaves.filter((l) => path === '' || `${l.path}/`.startsWith(`${path}/`)).reduce((a, l) => a + l.ns(r), 0);
          expect(series.reduce((a, s) => a + s.ns[r]!, 0)).toBe(want);
        }
      }
    }
    expect(seriesOf(pack, t, 0, true).map((s) => s.name)).toEqual(['iterate / heat', 'iterate / stress', 'setup', 'iterate', 'program, outside phases']);
    expect(seriesOf(pack, t, frameOf(t, 'iterate'), false).map((s) => s.name)).toEqual(['heat', 'stress', 'MPI_Allreduce']);
  });

  test('beyond twelve series the others are one, with all of their time', () => {
    const n = 30;
    const names = Array.from({ length: n }, (_, i) => `p${i}`);
    const { json, columns } = profileOf({ ranks: 1 });
    const frames = n + 1;
    const put: Record<string, Int32Array | Uint8Array | Float64Array> = {
      type: Uint8Array.from({ length: frames }, (_, i) => (i ? 1 : 0)), parent: Int32Array.from({ length: frames }, (_, i) => (i ? 0 : -1)), name: Int32Array.from({ length: frames }, (_, i) => i - 1),
      place: new Int32Array(frames).fill(-1), cluster: new Int32Array(frames), ns: Float64Array.from({ length: frames }, (_, i) => (i ? i : (n * (n + 1)) / 2)), calls: new Float64Array(frames),
      most: new Float64Array(frames), whose: new Int32Array(frames), threads: new Int32Array(frames).fill(1),
    };
    const all = { ...columns, ...Object.fromEntries(Object.entries(put).map(([name, c]) => [`profile.phase.${name}`, c])), 'profile.bar.group': new Int32Array(n), 'profile.bar.frame': Int32Array.from({ length: n }, (_, i) => i + 1), 'profile.bar.ns': Float64Array.from({ length: n }, (_, i) => i + 1), 'profile.path.name': new Int32Array(columns['profile.path.name']!.length).fill(-1), 'profile.path.place': new Int32Array(columns['profile.path.name']!.length).fill(-1) };
    const pack = loadPack(synthetic({ ranks: 1, iterations: 1, clusters: 3, profile: { json: { ...json, names }, columns: all } }).bytes);
    const series = seriesOf(pack, treeOf(pack, 'phase')!, 0, false);
    expect([series.length, series.at(-1)!.name, series.reduce((a, s) => a + s.total, 0)]).toEqual([MOST_SERIES, `${n - MOST_SERIES + 1} others`, (n * (n + 1)) / 2]);
  });

  test('of more groups than there is room for, a bar is the mean of neighbours', () => {
    const groups = Array.from({ length: 1001 }, (_, i): [number, number] => [2 * i, 2 * i + 1]);
    const columns = columnsOf(groups, 100);
    expect([columns.length, columns[0], columns.at(-1)]).toEqual([91, { first: 0, last: 10, threads: 22 }, { first: 990, last: 1000, threads: 22 }]);
    const s = { name: '', frame: 0, total: 0, ns: Float64Array.from(groups, () => 10) };
    expect(columns.map((c) => meanIn(s, c)).every((v) => v === 5)).toBe(true);
  });

  test('instances have their times, and 10^5 of them are drawn a pixel at a time', () => {
    const pack = loadPack(make({ ranks: 8, instances: 100_000, group: 25 }));
    const all = pack.json.profile!.instances;
    const points = pointsOf(pack, all[0]!);
    expect([points.length, all[0]!.of, points.at(-1)!.last]).toEqual([4000, 100_000, 99_999]);
    const mean = (i: number) => [0, 1, 2, 3, 4, 5, 6, 7].reduce((a, r) => a + instanceNS(i, r), 0) / 8;
    for (const p of [points[0]!, points[1234]!, points.at(-1)!]) expect(p.mean).toBeCloseTo(mean(p.first), 6);
    const drawn = perPixel(points, (p) => Math.floor(p.first / 100));
    expect(drawn.length).toBe(1000);
    expect(drawn.flatMap((d) => d.of)).toEqual(points);
    expect([drawn[7]!.least, drawn[7]!.most]).toEqual([points[28]!.least, points[31]!.most]);
    expect(timeOf(pack, all, all[1]!, 50, 74)).toEqual([50 * 4e6, 75 * 4e6 - 1]);
    expect(timeOf(loadPack(make({ ranks: 8, instances: 9, timed: false })), all, all[1]!, 5, 5)).toBeNull();
    expect([keptOf(pack.json.manifest, [0, 10]), keptOf(pack.json.manifest, [1e15, 1e15 + 1]), keptOf(null, [0, 1])]).toEqual([true, false, true]);
  });

  const damaged: [string, (c: Record<string, Int32Array | Uint8Array | Float64Array>, json: Record<string, unknown>) => void, RegExp][] = [
    ['a short column', (c) => (c['profile.phase.ns'] = new Float64Array(2)), /profile\.phase\.ns has 2 rows/],
    ['a missing column', (c) => delete c['instance.most'], /instance\.most has 0 rows/],
    ['a short class', (c) => (c['profile.path.class.0'] = new Float64Array(2)), /profile\.path\.class\.0 has 2 rows/],
    ['a circle', (c) => (c['profile.phase.parent']![2] = 2), /frame 2 of profile\.phase has no frame round it/],
    ['two roots', (c) => (c['profile.path.parent']![1] = -1), /frame 1 of profile\.path has no frame/],
    ['an unknown type', (c) => (c['profile.phase.type']![1] = 99), /unknown type/],
    ['an unknown name', (c) => (c['profile.path.name']![1] = 999), /unknown name/],
    ['an unknown thread', (c) => (c['profile.path.whose']![1] = 8), /of an unknown thread/],
    ['a bar of no frame', (c) => (c['profile.bar.frame']![1] = 999), /a bar has an unknown frame/],
    ['a bar of no group', (c) => (c['profile.bar.group']![1] = 8), /a bar is of an unknown group/],
    ['groups of no thread', (_, json) => (json['groups'] = [[0, 8]]), /a group has unknown threads/],
    ['a series without points', (_, json) => (json['instances'] = [{ from: 100, count: 100 }]), /unknown points/],
    ['an instance of no thread', (c) => (c['instance.whose']![0] = -2), /an instance is of an unknown thread/],
  ];
  test.each(damaged)('%s is reported', (_, damage, said) => {
    const data = profileOf(eight);
    damage(data.columns, data.json);
    const bytes = synthetic({ ranks: 8, iterations: 3, clusters: 3, profile: data }).bytes;
    expect(() => loadPack(bytes)).toThrow(PackError);
    expect(() => loadPack(bytes)).toThrow(said);
  });

  test('fields of another type become defaults', () => {
    const p = loadPack(packBytes({ format: 1, profile: { format: 'two', names: 7, instances: [{}], groups: {} } }, {})).json.profile!;
    expect([p.format, p.names, p.instances[0]!.path, p.groups]).toEqual([0, [], [], []]);
  });
});

describe('the view', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const hash = (page: Page) => page.evaluate(() => decodeURIComponent(location.hash));
  const frame = (page: Page, name: string) => page.locator(`.flame [data-frame=${JSON.stringify(name)}]`);
  const crumbs = async (page: Page) => plain(await page.locator('.crumbs').innerText());
  const details = async (page: Page) => plain(await page.locator('.profile-details').innerText());
  const rows = async (page: Page) => (await page.locator('.listing-frames tbody tr').allInnerTexts()).map(plain);

  test('a click zooms; back, breadcrumb and reset lead out; both themes can be read', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, errors, close } = await open(browser, report(make({ ...eight, classes: true })), 'view=profile', { colorScheme });
      await frame(page, 'stress').waitFor();
      await accessible(page);
      await frame(page, 'iterate').hover();
      await expect.poll(async () => plain(await page.locator('.tip').innerText())).toMatch(/^iterate inclusive 3\.44 s exclusive 240 ms of the run 90\.9 % instances 8 per instance 430 ms threads 8 of 8 .* most 570 ms, rank 7 imbalance 1\.33 Click: zoom in\./);
      await frame(page, 'iterate').click();
      await expect.poll(() => hash(page)).toContain('into=iterate&frame=iterate');
      expect(await crumbs(page)).toBe('program › iterate');
      expect(await frame(page, 'setup').count()).toBe(0);
      await frame(page, 'stress').click();
      expect(await crumbs(page)).toBe('program › iterate › stress');
      expect(await details(page)).toMatch(/^stress inclusive 1\.44 s/);
      await page.getByRole('button', { name: 'Back' }).click();
      expect(await crumbs(page)).toBe('program › iterate');
      await frame(page, 'stress').click();
      await page.locator('.crumbs').getByRole('button', { name: 'iterate' }).click();
      expect(await crumbs(page)).toBe('program › iterate');
      await page.getByRole('button', { name: 'Show all' }).click();
      expect(await crumbs(page)).toBe('program');
      expect(await frame(page, 'setup').count()).toBe(1);
      expect(errors).toEqual([]);
      await close();
    }
  });

  test('keys go from frame to frame and zoom, and the key of the view opens it', async () => {
    const { page, errors, close } = await open(browser, report(make(eight)));
    await page.keyboard.press('c');
    const flame = page.getByRole('application', { name: /Frames of the profile/ });
    await flame.focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    await expect.poll(() => details(page)).toMatch(/^stress /);
    await page.keyboard.press('Enter');
    await expect.poll(() => crumbs(page)).toBe('program › iterate › stress');
    await page.keyboard.press('Backspace');
    await expect.poll(() => crumbs(page)).toBe('program');
    await page.keyboard.press('/');
    await page.keyboard.type('mpi_send');
    await expect.poll(() => page.locator('.flame rect.hit').count()).toBe(1); // the other one is too narrow
    expect(await rows(page)).toHaveLength(2);
    expect(plain(await page.locator('.canvas-bar').innerText())).toContain('2 frames, 4.23 % of the time of program');
    expect(errors).toEqual([]);
    await close();
  });

  test('phases with long names leave the page as wide as the window', async () => {
    const long = (letter: string) => letter.repeat(3000);
    const { page, errors, close } = await open(browser, report(make({ ...eight, names: [long('h'), long('s')] })), 'view=profile&frame=iterate');
    await page.getByRole('heading', { name: 'Time of ranks in iterate' }).waitFor();
    const wide = await page.locator('.profile-bars .legend li').evaluateAll((list) => list.map((li) => li.getBoundingClientRect().width));
    expect(Math.max(...wide)).toBeLessThan(700);
    await page.locator('.listing-frames').getByRole('button', { name: long('s') }).click();
    await expect.poll(() => hash(page)).toContain(long('s'));
    for (const select of await page.locator('.profile select').all()) expect((await select.boundingBox())!.width).toBeLessThan(400);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0);
    expect(errors).toEqual([]);
    await close();
  });

  test('the table sorts, and a row selects its frame, its ranks and its instances', async () => {
    const { page, errors, close } = await open(browser, report(make(eight)), 'view=profile');
    await frame(page, 'stress').waitFor();
    expect((await rows(page)).slice(0, 3)).toEqual([expect.stringMatching(/^program 3\.78 s 100 % 8 ms/), expect.stringMatching(/^iterate 3\.44 s/), expect.stringMatching(/^heat 1\.76 s/)]);
    await page.locator('.listing-frames thead').getByRole('button', { name: 'Imbalance' }).click();
    expect((await rows(page))[0]).toMatch(/^cluster 2 1 s .* 2\.4$/);
    await page.locator('.listing-frames').getByRole('button', { name: 'stress' }).click();
    await expect.poll(() => hash(page)).toContain('frame=iterate/stress');
    expect(await page.locator('.flame rect.chosen').count()).toBe(1);
    await page.getByRole('heading', { name: 'Time of ranks in iterate / stress' }).waitFor();
    expect((await page.locator('.profile-bars .legend li').allInnerTexts()).map(plain)).toEqual(['cluster 2', 'MPI_Wait', 'MPI_Send']);
    await page.getByRole('button', { name: 'Select cluster 2 in all views' }).click();
    await expect.poll(() => hash(page)).toContain('cluster=2');
    await page.getByRole('button', { name: 'Select rank 7, which has the most' }).click();
    await expect.poll(() => hash(page)).toContain('threads=7');
    expect(await page.locator('.selection').innerText()).toContain('rank 7');
    expect(errors).toEqual([]);
    await close();
  });

  test('bars select ranks, instances select their time, and lead to the timeline', async () => {
    const { page, errors, close } = await open(browser, report(make(eight)), 'view=profile&frame=iterate&probe=1');
    const bars = page.getByRole('application', { name: /Bars of ranks/ });
    await bars.focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => hash(page)).toContain('threads=3');
    const instances = page.getByRole('application', { name: /Time of each instance: whole instance/ });
    await instances.focus();
    await page.keyboard.press('Home');
    for (let i = 0; i < 51; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => hash(page)).toContain(`from=${51 * 4e6}&to=${52 * 4e6 - 1}`);
    const panel = page.locator('.profile-instances');
    expect(plain(await panel.innerText())).toContain('instance 51: 5.01 ms mean, 8.51 ms most (rank 7). It ran from 204 ms to 208 ms, which is selected in all views. No window of that time was kept: the timeline shows it as overview.');
    await panel.locator('label', { hasText: /^Time/ }).locator('select').selectOption('MPI_Allreduce');
    await page.getByRole('application', { name: /Time of each instance: MPI_Allreduce/ }).waitFor();
    await instances.or(page.getByRole('application', { name: /MPI_Allreduce/ })).click({ position: { x: 80, y: 60 } });
    await panel.getByRole('button', { name: 'Timeline' }).click();
    await page.waitForSelector('.timeline');
    await expect.poll(() => hash(page)).toContain('from=0&to=3999999');
    expect(await page.locator('.timeline rect.selected').count()).toBe(1);
    expect(errors).toEqual([]);
    await close();
  });

  test('an instance that is too short to see, of a time without windows, is marked on the timeline, which says so', async () => {
    const { page, errors, close } = await open(browser, report(make(eight)), `view=timeline&from=${51 * 4e6}&to=${51 * 4e6 + 10}`);
    const mark = page.locator('.timeline rect.selected');
    await mark.waitFor();
    expect(Number(await mark.getAttribute('width'))).toBe(4);
    expect(plain(await page.locator('.timeline .canvas-bar').innerText())).toContain('No window of that time was kept: the timeline shows it as overview.');
    await page.getByRole('button', { name: 'Zoom to the selected time' }).click();
    await expect.poll(async () => Number(await mark.getAttribute('width'))).toBeGreaterThan(100);
    await page.evaluate(() => (location.hash = 'view=timeline&from=0&to=10'));
    await expect.poll(async () => plain(await page.locator('.timeline .canvas-bar').innerText())).not.toContain('No window');
    expect(errors).toEqual([]);
    await close();
  });

  test('of instances, those of the selected phase are shown, else of the phase with most; those of the program when asked for', async () => {
    const { page, errors, close } = await open(browser, report(make({ ...eight, whole: true })), 'view=profile&frame=iterate');
    const shown = async () => plain(await page.locator('.profile-instances').innerText());
    await expect.poll(shown).toContain('iterate: 92 instances');
    await page.evaluate(() => (location.hash = 'view=profile'));
    await expect.poll(shown).toContain('iterate: 92 instances');
    await page.locator('.profile-instances label', { hasText: /^Phase/ }).locator('select').selectOption('program, 1');
    await expect.poll(shown).toContain('program: 1 instance');
    await expect.poll(() => hash(page)).toContain('instances=');
    await page.reload();
    await expect.poll(shown).toContain('program: 1 instance');
    expect(errors).toEqual([]);
    await close();
  });

  test('times of functions are estimates', async () => {
    const { page, errors, close } = await open(browser, report(make(eight)), 'view=profile&tree=path');
    await frame(page, 'stress').hover();
    await expect.poll(async () => plain(await page.locator('.tip').innerText())).toContain('Inclusive times of functions are estimates; MPI below them is exact.');
    expect(plain(await page.locator('.profile-picture').innerText())).toContain('Inclusive time of a function is an estimate: MPI below it is exact');
    expect(errors).toEqual([]);
    await close();
  });

  test('10^5 instances, names with odd characters, and unknown times', async () => {
    const { page, errors, close } = await open(browser, report(make({ ranks: 8, instances: 100_000, group: 25, timed: false, names: ['he/at <b>"x"\\', 'stress 大'] })), 'view=profile&probe=1');
    const panel = page.locator('.profile-instances');
    await expect.poll(async () => plain(await panel.innerText())).toContain('100,000 instances, in 4,000 points of 25, each the mean');
    expect(plain(await panel.innerText())).toContain('When an instance ran is not known: the directory is of an earlier version');
    await page.locator('.listing-frames').getByRole('button', { name: 'he/at <b>"x"\\' }).click();
    await expect.poll(() => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('frame'))).toBe('iterate/he\\/at <b>"x"\\\\');
    expect(await page.locator('main b').count()).toBe(0);
    await page.reload();
    await expect.poll(() => details(page)).toMatch(/^he\/at <b>"x"\\ inclusive/);
    expect(errors).toEqual([]);
    await close();
  });

  test('of 1,500 ranks a bar is the mean of several, and the page says so', async () => {
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 1500, iterations: 2, clusters: 3, profile: profileOf({ ranks: 1500 }) }).bytes), 'view=profile');
    await expect.poll(async () => plain(await page.locator('.profile-bars').innerText())).toMatch(/1,500 threads .* a bar is the mean of up to \d threads/);
    expect(errors).toEqual([]);
    await close();
  });

  test('what is missing is said', async () => {
    const said = async (profile: ReturnType<typeof profileOf> | undefined) => {
      const { page, errors, close } = await open(browser, report(synthetic({ ranks: 2, iterations: 3, clusters: 3, ...(profile ? { profile } : {}) }).bytes), 'view=profile');
      const text = plain(await page.locator('main').innerText());
      expect(errors).toEqual([]);
      await close();
      return text;
    };
    const old = await said(profileOf({ ranks: 2, json: { format: 1, phases: false, paths: false, left_out: 'Bars are sums of 2 threads each.' } }));
    for (const words of ['of an earlier version: phases are named without those round them', 'names no phases', 'no callpaths.json', 'Bars are sums of 2 threads each.', 'Instances are not known: the directory is of an earlier version.']) expect(old).toContain(words);
    expect(await said(profileOf({ ranks: 2 }))).toContain('the directory has no instances.parquet');
    expect(await said(undefined)).toContain('the directory has no profile.parquet');
    const nothing = profileOf({ ranks: 2 });
    nothing.columns['profile.phase.ns']!.fill(0);
    expect(await said(nothing)).toContain('No time is known');
  });
});
