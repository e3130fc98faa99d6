// The view Program: the text, what is known of its lines, and how lines, bursts, calls and trips lead to each other.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHOSEN } from '../src/data/codes';
import { loadPack } from '../src/data/pack';
import { depthsOf, HEAVY, isOpen, opened, shownOf, toggled, usualDepth, usually } from '../src/program/fold';
import { clustersOf, lineOfBurst, lineOfCall, modelOf, ownOf, ranksOf, runBy, shortOf, threadsOf, titleOf, type Model } from '../src/program/model';
import { marksOf } from '../src/program/marks';
import { tripsOf } from '../src/program/trips';
import { factsOf } from '../src/program/why';
import { accessible, launch, open, report } from './browser';
import { packBytes } from './pack';
import { MORE_PATHS, readings, written, type Written } from './program';
import { synthetic } from './synthetic';

const RANKS = 8;
const TRIPS = 40;
const shape = { ranks: RANKS, iterations: TRIPS, clusters: 3 };
const base = synthetic(shape);
const make = (program: Written = written(RANKS, TRIPS), page: Record<string, unknown> = {}) => synthetic({ ...shape, program, page: { paths: [...(base.json['paths'] as unknown[]), ...MORE_PATHS], ...page } }).bytes;
const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
const all = () => true;

function model(bytes = make()): { pack: ReturnType<typeof loadPack>; m: Model } {
  const pack = loadPack(bytes);
  return { pack, m: modelOf(pack)! };
}

const at = (m: Model, text: string) => m.lines.findIndex((l) => l.text.includes(text));

describe('data', () => {
  test('the text reads as the command prints it', () => {
    const { m } = model();
    expect(m.lines.map((l) => `${l.place}|${'  '.repeat(l.depth)}${l.text}`)).toEqual([
      'app/main.c:5|MPI_Init()',
      'app/main.c:10|FOR i = 1..40',
      'app/main.c:11|  step()  # inlined',
      '|    compute',
      'halo.c:51|    MPI_Wait()',
      '|    compute',
      'halo.c:52|    MPI_Send(to (rank+1) mod size)',
      'app/main.c:14|    solve()',
      'solve.c:20|      FOR j = 1..(3,4,5 in turn)',
      'solve.c:21|        MPI_Irecv(from rank^1)',
      'solve.c:30|        MPI_Allreduce(on rows)',
      '|    compute',
      'halo.c:50|    MPI_Send()',
      '|  IF i % 10 == 0',
      'app/main.c:17|    report()',
      '|      IF rank == 0',
      'report.c:9|        MPI_Recv()',
      '|      ELSE',
      'report.c:7|        MPI_Reduce()',
      '|  IF rank % 2 == 1  # by order',
      'other/main.c:40|    extra()',
      '|      MPI_Barrier()',
      '|  IF (57 of 400 times, no rule found)',
      'app/main.c:19|    MPI_Iprobe()',
      'app/main.c:22|tree()  # recursive',
      'app/main.c:24|  tree()  # recursion',
      '|… 12 lines, summed: each takes little time',
      'app/main.c:30|MPI_Finalize()',
    ]);
  });

  // Both files are made by a test of the package that prints programs.
  test.each(['nest', 'odd', 'test2'])('the text of %s is what the command prints, to the letter', (name) => {
    const file = (end: string) => readFileSync(new URL(`../../analysis/program/text/testdata/${name}${end}`, import.meta.url), 'utf8');
    const { m } = model(make(JSON.parse(file('.json')) as Written));
    const printed = file('.all.txt').trimEnd().split('\n');
    const head = printed.findIndex((line) => line.includes('PSEUDOCODE'));
    const at = printed[head]!.indexOf('PSEUDOCODE');
    const code = m.lines.map((l) => '  '.repeat(l.depth + 1) + l.text);
    const wide = Math.max(...code.map((text) => text.length));
    const ofViews = ['…', '|', "i', j'"]; // what --depth, --function and narrow terminals need
    const marks = printed.slice(1, head - 1).filter((line) => !line.startsWith('note: ') && !ofViews.some((mark) => line.startsWith(`${mark}: `)));
    expect(marksOf(m, (JSON.parse(file('.json')) as { basis: string }).basis).map(({ mark, text }) => `${mark}: ${text}`)).toEqual(marks);
    expect(m.lines.map((l, i) => [`${l.node.id}  ${l.place}`.trim(), code[i]])).toEqual(printed.slice(head + 2).map((line) => [line.slice(0, at).trim(), line.slice(at, at + wide).trimEnd()]));
  });

  test('conditions name the loops of the text, and branches that leave nothing are ELSE', () => {
    const loop = (variable: string, body: Written[]): Written => ({ id: 1, kind: 'loop', variable, trips: { expression: '3..7', least: 3, most: 7, mean: 5.25, kind: 'varies' }, stands_for: 2, unrolled: 4, by: 'sequence', body });
    const cond = (more: Written): Written => ({ id: 9, kind: 'if', ...more });
    const when = (kind: string, variable: string, more: Written = {}): Written => ({ when: { kind, variable, ...more } });
    const body = [
      cond(when('at', 'j', { trip: 3 })),
      cond({ ...when('not at', 'j', { trip: 3 }), else: true }),
      cond({ ...when('at', 'j', { trip: 4 }), when_text: 'j == 4', else: true }),
      cond({ ranks: [0, 1, 2], ...when('range', 'i', { first: 2, last: 8, stride: 3 }) }),
      cond(when('last', 'k')),
      cond({ ...when('at', 'k', { trip: 7 }), when_text: 'k > 2 and k != 7' }),
      cond(when('depth', 'depth', { trip: 2 })),
      cond({ ...when('not at', 'depth', { trip: 2 }), else: true }),
      cond(when('every', 'n', { period: 3, offset: 1 })),
      cond({ ranks: [0], ranks_text: 'rank == 0' }),
      cond({ ranks: [7], ranks_text: 'rank == size-1', else: true }),
      cond({ ranks: [1, 2, 3], else: true }),
      cond({ ranks: [3] }),
      cond({ when: { kind: 'unknown' }, happened: 1200, of: 5000 }),
      cond({ ranks: [1], ranks_text: 'rank == 1', when: { kind: 'unknown' }, happened: 1, of: 3, else: true }),
    ];
    const linear: Written = { id: 8, kind: 'loop', variable: 'k', trips: { expression: 'i+1', kind: 'linear', linear: { variable: 'i' } } };
    const outside: Written = { id: 8, kind: 'loop', trips: { expression: '2*l+1', kind: 'linear', linear: { variable: 'l' } } };
    const bounds: Written[] = [{ at_least: true, with_calls: true }, { at_most: true }, { at_least: true, at_most: true }, { likely: true, with_calls: true }].map((b) => ({ id: 8, kind: 'loop', trips: { expression: '2..5', kind: 'varies', mean: 3, ...b } }));
    const threads: Written = { id: 8, kind: 'call', function: 'work', threads: [1, 2, 3], ranks: [0] };
    const { m } = model(make(written(RANKS, TRIPS, { basis: 'order', body: [loop('i', [loop('j', [...body, linear, outside, ...bounds, threads, { id: 9, kind: 'call', function: 'x', by: 'order' }])])] })));
    expect(m.lines.map((l) => l.text)).toEqual([
      'FOR i = 1..(3..7) (2 loops)  # mean 5.25, unrolled, by sequence',
      'FOR j = 1..(3..7) (2 loops)  # mean 5.25, unrolled, by sequence',
      'IF j == 3', 'ELSE', 'ELSE IF j == 4', 'IF rank in 0-2 and i in 2..8:3', "IF k' == last", "IF k' > 2 and k' != 7", 'IF depth == 2', 'ELSE', 'IF n % 3 == 1',
      'IF rank == 0', 'ELSE IF rank == size-1', 'ELSE', 'IF rank == 3', 'IF (1,200 of 5,000 times, no rule found)', 'ELSE IF rank == 1 and (1 of 3 times, no rule found)',
      'FOR k = 1..i+1', "FOR 1..2*l'+1",
      'FOR 1..(2..5) or more  # mean 3.00, trips with calls', 'FOR 1..(2..5) or fewer  # mean 3.00', 'FOR 1..(2..5) or so  # mean 3.00', 'FOR 1..(2..5)  # mean 3.00, likely, trips with calls', 'work()  # of threads 1-3 of rank 0', 'x()',
    ]);
  });

  test('times of blocks are those of what lies in them', () => {
    const { m } = model();
    const leaves = m.lines.filter((l) => ['mpi', 'compute', 'other'].includes(l.node.kind));
    expect(m.computeNS).toBe(leaves.reduce((sum, l) => sum + l.node.compute_ns, 0));
    expect(m.mpiNS).toBe(leaves.reduce((sum, l) => sum + l.node.mpi_ns, 0));
    const step = m.lines[at(m, 'step()')]!;
    expect([step.computeNS, step.mpiNS]).toEqual([7e8, 5 * 80 * 200_000]);
    expect(step.end).toBe(at(m, 'IF i % 10'));
  });

  test('blocks fold to a depth, one by one, and open round a line', () => {
    const { m } = model();
    expect(depthsOf(m)).toEqual([5, 10, 19, 23, 28].map((n, d) => (d < 4 ? m.lines.filter((l) => l.depth <= d).length : n)));
    expect(usualDepth(m)).toBe(depthsOf(m).length - 1);
    const closed = { depth: 0, others: new Set<number>() };
    expect(shownOf(m, closed).map((i) => m.lines[i]!.depth)).toEqual([0, 0, 0, 0, 0]);
    const deep = at(m, 'MPI_Irecv');
    const round = opened(m, closed, deep);
    expect(shownOf(m, round)).toContain(deep);
    expect(shownOf(m, round)).not.toContain(at(m, 'report()'));
    expect(opened(m, round, deep)).toBe(round);
    const again = toggled(m, round, 1);
    expect([isOpen(m, round, 1), isOpen(m, again, 1), shownOf(m, again).length]).toEqual([true, false, 5]);
  });

  test('where not all of a program fits, what takes most time is open', () => {
    const call = (id: number, mpi_ns: number): Written => ({ id, kind: 'mpi', function: 'MPI_Barrier', count: 1, mpi_ns });
    const block = (id: number, body: Written[]): Written => ({ id, kind: 'call', function: `f${id}`, body });
    const calls = (from: number, n: number, ns: number) => Array.from({ length: n }, (_, i) => call(from + i, ns));
    // Of 40 + 15 lines in two blocks, and 40 in a third: the first two fit, though they are deepest.
    const { m } = model(make(written(RANKS, TRIPS, { body: [block(1, [block(2, [block(3, calls(10, 40, 5))])]), block(4, calls(100, 40, 1)), block(5, calls(200, 10, 2))] })));
    const folding = { depth: usually(m), others: new Set<number>() };
    expect(folding.depth).toBe(HEAVY);
    const seen = shownOf(m, folding).map((i) => m.lines[i]!.node.id);
    expect(seen.filter((id) => id < 10)).toEqual([1, 2, 3, 4, 5]);
    expect([seen.includes(49), seen.includes(100), seen.includes(209)]).toEqual([true, false, true]);
    expect(isOpen(m, toggled(m, folding, m.ofID.get(4)!), m.ofID.get(4)!)).toBe(true);
    expect(usually(model().m)).toBe(depthsOf(model().m).length - 1);
  });

  test('bursts belong to the line between their calls, calls to that of their path', () => {
    const { pack, m } = model();
    const cluster = pack.column('points.cluster');
    const [before] = [pack.column('points.before')];
    for (let i = 0; i < 30; i++) {
      const line = m.lines[lineOfBurst(pack, i)]!;
      expect(line.node.around).toEqual([[before[i], (before[i]! + 1) % 3]]);
      if (cluster[i]! > 0) expect(clustersOf(line.node)).toEqual([cluster[i]]);
    }
    expect(m.lines[lineOfCall(pack, 0)]!.place).toBe('halo.c:51');
    const own = ownOf(pack, { line: m.lines[at(m, 'step()')]!.node.id })!;
    expect([own.bursts.every((v) => v === 1), own.calls.every((v) => v === 1)]).toEqual([true, true]);
    const wait = ownOf(pack, { line: m.lines[at(m, 'MPI_Wait')]!.node.id })!;
    expect(wait.bursts.some((v) => v === 1)).toBe(false);
    expect([...wait.calls]).toEqual(Array.from(pack.column('calls.path'), (p) => Number(p === 1)));
    expect([ownOf(pack, { line: null }), ownOf(pack, { line: 999 })]).toEqual([null, null]);
  });

  test('where numbers of call paths are others, nothing is joined', () => {
    const { pack, m } = model(make(undefined, { program_joined: false }));
    expect([lineOfBurst(pack, 0), lineOfCall(pack, 0), ownOf(pack, { line: 4 }), tripsOf(pack, m, 1, all)]).toEqual([-1, -1, null, null]);
  });

  test('bursts in no cluster belong to a line with more bursts than its clusters have', () => {
    const { m } = model();
    const { node } = m.lines[at(m, 'compute')]!;
    expect(clustersOf({ ...node, count: 81 })).toEqual([1, -1, -2, -3]);
    expect(clustersOf({ ...node, clusters: [] })).toBeNull();
  });

  test('conditions say which ranks reach a line', () => {
    const { pack, m } = model();
    expect(ranksOf(m, at(m, 'MPI_Recv'))).toEqual([0]);
    expect(ranksOf(m, at(m, 'MPI_Reduce'))).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(ranksOf(m, at(m, 'MPI_Barrier'))).toEqual([1, 3, 5, 7]);
    expect(ranksOf(m, at(m, 'MPI_Wait'))).toBeNull();
    const runs = runBy(m, new Set([0, 2]));
    expect(m.lines.filter((l) => !runs[l.at]).map((l) => l.text)).toEqual(['IF rank % 2 == 1  # by order', 'extra()', 'MPI_Barrier()']);
    expect(threadsOf(pack, [0, 1, 5])).toEqual([[0, 1], [5, 5]]);
  });

  test('computation that ends with calls of other ranks is none of a rank', () => {
    const mpi = (path: number): Written => ({ id: 10 + path, kind: 'mpi', function: 'MPI_Send', paths: [path] });
    const compute = (id: number, after: number): Written => ({ id, kind: 'compute', around: [[0, after]] });
    const body: Written[] = [
      mpi(0), compute(1, 1), { id: 2, kind: 'if', ranks: [1, 2, 3, 4, 5, 6, 7], ranks_text: 'rank != 0', body: [mpi(1)] },
      { id: 3, kind: 'if', else: true, ranks: [0], ranks_text: 'rank == 0', body: [compute(4, 2), mpi(2)] }, compute(5, 3),
    ];
    const { m } = model(make(written(RANKS, TRIPS, { body })));
    const not = (ranks: number[]) => {
      const runs = runBy(m, new Set(ranks));
      return m.lines.filter((l) => !runs[l.at]).map((l) => l.node.id);
    };
    expect(not([0])).toEqual([1, 2, 11]);
    expect(not([3])).toEqual([3, 4, 12]);
    expect(not([0, 3])).toEqual([]);
  });

  test('trips go from the call before the loop body to its last call, as far as there are calls', () => {
    const { pack, m } = model();
    const found = tripsOf(pack, m, 1, (t) => t === 2)!;
    const mine = [...pack.column('calls.thread').keys()].filter((i) => pack.column('calls.thread')[i] === 2);
    const exit = (k: number) => pack.column('calls.exit_ns')[mine[k]!]!;
    expect(found.thread).toBe(2);
    // Two iterations are kept, of three calls each; before the first one nothing is known.
    expect(found.trips).toEqual([{ from: pack.column('calls.enter_ns')[mine[0]!], to: exit(2) }, { from: exit(2), to: exit(5) }]);
    expect(tripsOf(pack, m, 1, (t) => t > 3)).toBeNull();
    expect(tripsOf(pack, m, at(m, 'FOR j'), all)).toBeNull();
  });

  test('a loop whose first part is a loop begins a trip where that is entered', () => {
    const mpi = (path: number): Written => ({ id: 10 + path, kind: 'mpi', function: 'MPI_Send', paths: [path] });
    const loop = (id: number, body: Written[]): Written => ({ id, kind: 'loop', trips: { expression: '9' }, body });
    // The calls are 1, 2, 0, 1, 2, 0: the inner loop makes 1 and 2.
    const { pack, m } = model(make(written(RANKS, TRIPS, { body: [loop(1, [loop(2, [mpi(1), mpi(2)]), mpi(0)])] })));
    expect(tripsOf(pack, m, 0, all)!.trips).toHaveLength(2);
    expect(tripsOf(pack, m, 1, all)!.trips.map((t) => Math.round((t.to - t.from) / 1e5))).toEqual(tripsOf(pack, m, 0, all)!.trips.map((_, i) => Math.round((tripsOf(pack, m, 1, all)!.trips[i]!.to - tripsOf(pack, m, 1, all)!.trips[i]!.from) / 1e5)));
    expect(tripsOf(pack, m, 1, all)!.trips).toHaveLength(2);
    // Of it, the call that is not in the inner loop is a part of the outer one alone.
    const [outer, inner] = [tripsOf(pack, m, 0, all)!.trips[0]!, tripsOf(pack, m, 1, all)!.trips[0]!];
    expect(outer.from).toBe(inner.from);
    expect(outer.to).toBeGreaterThan(inner.to);
  });

  test('short computation is what takes less than 0.5 % of it, unless a block has nothing else', () => {
    const compute = (id: number, ns: number): Written => ({ id, kind: 'compute', count: 1, compute_ns: ns, mean_ns: ns });
    const cond: Written = { id: 5, kind: 'if', ranks: [0], ranks_text: 'rank == 0', body: [compute(6, 1)] };
    const loop: Written = { id: 7, kind: 'loop', variable: 'i', trips: { expression: '9' }, body: [compute(8, 1), compute(9, 6)] };
    const { m } = model(make(written(RANKS, TRIPS, { body: [compute(1, 985), compute(2, 4), compute(3, 5), cond, loop] })));
    expect([...shortOf(m)].map((i) => m.lines[i]!.node.id)).toEqual([2, 3, 8]);
    expect(titleOf(m, m.lines[m.ofID.get(9)!]!)).toBe('compute in FOR i = 1..9');
  });

  test('facts have figures and the evidence', () => {
    const { pack, m } = model();
    const facts = (text: string) => {
      const f = factsOf(pack, m, m.lines[at(m, text)]!);
      return [...f.rows.map((r) => plain(r.join(' '))), ...f.says].join('; ');
    };
    expect(facts('FOR i')).toMatch(/trips 40 each time; entered 8 times, 320 trips in all; .*explains 97 %.*the machine code has this loop/);
    expect(facts('FOR j')).toContain('come in turn');
    expect(facts('MPI_Send(to')).toMatch(/calls 80; mean time of a call 200 µs; waiting for late senders 3 ms, 18.8 %; bytes a call 2 KiB; sends to \(rank\+1\) mod size; call paths MPI_Send@halo.c:52/);
    expect(facts('IF rank % 2')).toMatch(/ranks 4 ranks of 8: 1, 3, 5, 7; Evidence: the order of lines/);
    expect(facts('no rule')).toMatch(/happened 57 of 400 times; .*no rule holds.*calls happen, or do not/);
    expect(titleOf(m, m.lines[at(m, 'compute')]!)).toBe('compute in step()');
  });

  test('fields that are missing or of another type become defaults, and depth has an end', () => {
    let deep: Written = {};
    for (let i = 0; i < 2000; i++) deep = { kind: 'call', body: [deep] };
    const pack = loadPack(packBytes({ format: 1, program: { ranks: 'x', body: [{}, 7, { kind: 'if', ranks: 3, when: {} }, { kind: 'loop' }, { kind: 'mpi', peers: [1] }, deep], readings: { order: 7, thesis: { plot: { points: [{}] } } } } }, {}));
    const m = modelOf(pack)!;
    expect(m.lines.slice(0, 5).map((l) => l.text)).toEqual(['a line of an unknown kind', 'a line of an unknown kind', 'IF rank in none and an unknown condition', 'FOR 1..?', 'MPI( )']);
    expect(m.lines.length).toBeLessThan(600);
    for (const l of m.lines.slice(0, 6)) expect(factsOf(pack, m, l).rows).toBeDefined();
    expect(modelOf(loadPack(packBytes({ format: 1 }, {})))).toBeNull();
  });
});

describe('the view', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const hash = (page: Page) => page.evaluate(() => decodeURIComponent(location.hash));
  const row = (page: Page, text: string) => page.locator('.program-row', { hasText: text }).first();
  const marked = async (page: Page) => plain(await page.locator('.program-row.marked code').innerText());
  const details = async (page: Page) => plain(await page.locator('.program-details').innerText());
  const lines = async (page: Page) => page.locator('.program-row:not(.head)').count();

  test('is there only where the page has a program', async () => {
    const { page, errors, close } = await open(browser, report(base.bytes), 'view=program');
    expect(await page.getByRole('navigation').innerText()).not.toContain('Program');
    expect(await page.locator('main').getAttribute('aria-label')).toBe('Overview');
    expect(errors).toEqual([]);
    await close();
  });

  test('can be read in both themes, says how much is certain, and keeps its figures in columns', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, errors, close } = await open(browser, report(make()), 'view=program', { colorScheme });
      await row(page, 'MPI_Init').waitFor();
      await accessible(page);
      expect(plain(await page.locator('.program-head').innerText())).toMatch(/^Rules found for 99\.9 % of the MPI calls and 99\.8 % of the time\. Loops come from the machine code\. Figures are of all 8 ranks: computing MPI The machine code of libother\.so is not known/);
      expect(plain(await row(page, 'MPI_Send(to').innerText())).toBe('halo.c:52 MPI_Send(to (rank+1) mod size) 1.84 % 80 200 µs 2 KiB');
      // A file that is too long is cut, not the number of its line.
      await row(page, 'MPI_Wait').locator('.c-line .file').evaluate((e) => { e.textContent = `${'long_'.repeat(20)}name.c`; });
      const numbers = await page.locator('.program-row:not(.head) .c-line span:not(.file)').evaluateAll((list) => list.map((e) => e.getBoundingClientRect().right <= e.parentElement!.getBoundingClientRect().right + 1));
      expect(numbers.length).toBeGreaterThan(3);
      expect(numbers.every(Boolean)).toBe(true);
      for (const column of ['.c-share', '.c-calls', '.c-mean']) {
        const ends = await page.locator(`.program-row ${column}`).evaluateAll((list) => list.map((e) => Math.round(e.getBoundingClientRect().right)));
        expect(new Set(ends).size).toBe(1);
      }
      expect(errors).toEqual([]);
      await close();
    }
  });

  test('short computation appears where it is asked for', async () => {
    const compute = (id: number, ns: number, clusters: Written[] = []): Written => ({ id, kind: 'compute', count: 1, compute_ns: ns, mean_ns: ns, clusters });
    const body = [compute(1, 9000), compute(2, 4), { id: 3, kind: 'mpi', function: 'MPI_Barrier', paths: [1], count: 1 }, compute(4, 3, [{ cluster: 2, bursts: 1, share: 1 }]), { id: 5, kind: 'mpi', function: 'MPI_Barrier', count: 1 }];
    const { page, errors, close } = await open(browser, report(make(written(RANKS, TRIPS, { body }))), 'view=program');
    const ids = () => page.locator('.program-row:not(.head)').evaluateAll((rows) => rows.map((r) => Number((r as HTMLElement).dataset['id'])));
    await expect.poll(ids).toEqual([1, 3, 5]);
    await page.getByLabel('compute below 0.5 % (2 lines)').check();
    await expect.poll(ids).toEqual([1, 2, 3, 4, 5]);
    await expect.poll(() => hash(page)).toContain('short=yes');
    await page.getByLabel('compute below 0.5 % (2 lines)').uncheck();
    await page.getByRole('searchbox').fill('compute');
    await expect.poll(ids).toEqual([1, 2, 3, 4, 5]);
    await page.getByRole('searchbox').fill('');
    await expect.poll(ids).toEqual([1, 3, 5]);
    await page.evaluate(() => { location.hash = 'view=program&cluster=2'; });
    await expect.poll(ids).toEqual([1, 3, 4, 5]);
    expect(errors).toEqual([]);
    await close();
  });

  test('fits small widths', async () => {
    for (const width of [380, 700, 1000]) {
      const { page, errors, close } = await open(browser, report(make(written(RANKS, TRIPS, { readings: readings(RANKS, TRIPS) }))), 'view=program&at=2', { viewport: { width, height: 760 } });
      await row(page, 'FOR i').waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0);
      expect(await page.locator('.program-text').evaluate((e) => e.scrollWidth - e.clientWidth)).toBeLessThanOrEqual(0);
      expect(await page.locator('.program-details').isVisible()).toBe(true);
      expect((await row(page, 'FOR i').boundingBox())!.height).toBeGreaterThan(15);
      expect(errors).toEqual([]);
      await close();
    }
  });

  test('a compute line selects its bursts in burst space, timeline and the table of clusters', async () => {
    const { pack } = model();
    const drawn = (view: string) => page.evaluate((v) => (window as unknown as { __moriens?: { drawn: Record<string, { lit: number; bursts: number[] }> } }).__moriens?.drawn[v], view);
    const { page, errors, close } = await open(browser, report(make()), 'view=program&probe=1');
    const first = page.locator('.program-row[data-kind=compute]').first();
    await first.click();
    await expect.poll(() => hash(page)).toMatch(/cluster=1&line=4/);
    expect(await details(page)).toContain('compute in step()');
    const own = [...pack.column('points.cluster')].filter((c, i) => c === 1 && pack.column('points.before')[i] === 0).length;
    expect(await details(page)).toContain(`Selected in this page: ${own} bursts.`);
    expect(plain(await page.locator('.selection').innerText())).toContain('compute in step()');
    await page.locator('.program-details').getByRole('button', { name: 'Burst space' }).click();
    await page.waitForSelector('.space');
    await expect.poll(async () => (await drawn('space'))?.lit).toBe(own);
    await page.goBack();
    await expect.poll(() => marked(page)).toBe('compute');
    await page.locator('.program-details').getByRole('button', { name: 'Clusters' }).click();
    await page.waitForSelector('.clusters tr.chosen');
    expect(await page.locator('.clusters tr.chosen').count()).toBe(1);
    await expect.poll(async () => (await drawn('histogram'))?.bursts).toEqual([own]);
    await page.goBack();
    await first.click(); // and lifts the selection again
    await expect.poll(() => hash(page)).not.toContain('line=');
    expect(await hash(page)).not.toContain('cluster=');
    expect(errors).toEqual([]);
    await close();
  });

  test('of what is selected a line leaves its own bursts and calls', async () => {
    const drawn = (page: Page, view: string) => page.evaluate((v) => (window as unknown as { __moriens?: { drawn: Record<string, { lit: number; pixels: Record<string, number> }> } }).__moriens?.drawn[v], view);
    for (const [selected, lit] of [['line=4', 320], ['line=6&cluster=1', 0], ['line=5', 0], ['line=3', 960], ['line=999', 960]] as const) {
      const { page, errors, close } = await open(browser, report(make()), `view=space&probe=1&${selected}`);
      await expect.poll(async () => (await drawn(page, 'space'))?.lit).toBe(lit);
      expect(errors).toEqual([]);
      await close();
    }
    for (const [selected, some] of [['line=5', true], ['line=4', false], ['', false]] as const) {
      const { page, errors, close } = await open(browser, report(make()), `view=timeline&probe=1&zoom=0~12000000&${selected}`);
      await expect.poll(async () => ((await drawn(page, 'timeline'))?.pixels[CHOSEN] ?? 0) > 0).toBe(some);
      expect(errors).toEqual([]);
      await close();
    }
  });

  test('an MPI line selects its calls, and leads to the first on the timeline', async () => {
    const { page, errors, close } = await open(browser, report(make()), 'view=program');
    await row(page, 'MPI_Wait').click();
    await expect.poll(() => details(page)).toContain('Selected in this page: 8 calls.');
    await page.locator('.program-details').getByRole('button', { name: 'Timeline' }).click();
    await page.waitForSelector('.timeline');
    await expect.poll(() => hash(page)).toContain('zoom=');
    expect(plain(await page.locator('.legend').innerText())).toContain('calls of the selected line');
    expect(errors).toEqual([]);
    await close();
  });

  test('a loop shows one trip a click, and IF selects its ranks', async () => {
    const { page, errors, close } = await open(browser, report(make()), 'view=program');
    await row(page, 'FOR i').click();
    for (const trip of ['Trip 1', 'Trip 2', 'Trip 1']) {
      await page.getByRole('button', { name: `${trip} on the timeline` }).click();
      await page.waitForSelector('.timeline rect.selected');
      const said = new URLSearchParams((await hash(page)).slice(1));
      if (trip === 'Trip 2') expect(Number(said.get('from'))).toBeGreaterThan(5e6);
      await page.keyboard.press('g');
      await row(page, 'FOR i').waitFor();
    }
    await row(page, 'FOR j').click();
    expect(await details(page)).toContain('The page has no calls of it');
    await row(page, 'IF rank % 2').click();
    await expect.poll(() => hash(page)).toContain('threads=1,3,5,7');
    expect(await page.locator('.program-row.dim').allInnerTexts().then((t) => t.map(plain))).toEqual([expect.stringContaining('IF rank == 0'), expect.stringContaining('MPI_Recv')]);
    const before = await lines(page);
    await page.getByLabel(/Only lines that/).check();
    expect(await lines(page)).toBe(before - 2);
    const ranks = page.getByRole('textbox', { name: 'Ranks' });
    await ranks.fill('0, 2-3');
    await ranks.press('Enter');
    await expect.poll(() => hash(page)).toContain('threads=0,2-3');
    await ranks.fill('99');
    await ranks.press('Enter');
    expect(await hash(page)).toContain('threads=0,2-3');
    expect(errors).toEqual([]);
    await close();
  });

  test('keys go through the lines, fold, search and select', async () => {
    const { page, errors, close } = await open(browser, report(make()));
    await page.keyboard.press('g');
    const text = page.getByRole('treegrid');
    await text.focus();
    await page.keyboard.press('ArrowDown');
    expect(await marked(page)).toBe('MPI_Init()');
    await page.keyboard.press('ArrowDown');
    expect(await marked(page)).toBe('FOR i = 1..40');
    const whole = await lines(page);
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => lines(page)).toBe(whole - 22);
    expect(await marked(page)).toBe('FOR i = 1..40 … 22 lines');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => marked(page)).toBe('step() # inlined');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => hash(page)).toContain('line=4');
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    await expect.poll(() => lines(page)).toBeLessThan(whole);
    await page.keyboard.press('/');
    await page.keyboard.type('mpi_r');
    await page.keyboard.press('Enter'); // what is folded opens
    await expect.poll(() => marked(page)).toBe('MPI_Recv()');
    await page.keyboard.press('Enter');
    await expect.poll(() => marked(page)).toBe('MPI_Reduce()');
    expect(plain(await page.locator('.found-tools').innerText())).toContain('2 of 2 lines');
    await page.keyboard.press('Enter');
    await expect.poll(() => marked(page)).toBe('MPI_Recv()');
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(() => marked(page)).toBe('MPI_Reduce()');
    await page.getByLabel('Unfold').selectOption({ label: 'nothing' });
    await expect.poll(() => lines(page)).toBe(5);
    await expect.poll(() => hash(page)).toContain('depth=0');
    await page.reload();
    await expect.poll(() => page.locator('.program-row.marked').count()).toBe(1);
    expect(errors).toEqual([]);
    await close();
  });

  test('a burst on the timeline leads to its line, and a cluster marks its lines', async () => {
    const { page, errors, close } = await open(browser, report(make()), 'view=timeline&zoom=0~12000000');
    await page.locator('.timeline-plot').focus();
    for (const key of ['ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await page.getByRole('button', { name: /Its line of the program: compute in step/ }).click();
    await row(page, 'FOR i').waitFor();
    expect(await page.locator('.program-row.marked').getAttribute('data-id')).toBe('6');
    await page.evaluate(() => (location.hash = 'view=program&cluster=3&depth=0'));
    await expect.poll(() => page.locator('.program-row.marked').getAttribute('data-id').catch(() => '')).toBe('12');
    expect(await page.locator('.program-row.marked').isVisible()).toBe(true);
    expect(errors).toEqual([]);
    await close();
  });

  test('loops are found in other ways, where the page has them, and points mark their lines', async () => {
    const { page, errors, close } = await open(browser, report(make(written(RANKS, TRIPS, { readings: readings(RANKS, TRIPS) }))), 'view=program');
    const way = (name: string) => page.locator('.program-readings').getByRole('button', { name });
    expect(await way('code').getAttribute('aria-pressed')).toBe('true');
    await way('order of lines').click();
    await expect.poll(() => lines(page)).toBe(2);
    expect(plain(await page.locator('.program-head').innerText())).toContain('Rules found for 80 % of the MPI calls and 70 % of the time. Loops come from the order of lines.');
    await row(page, 'MPI_Wait').click();
    await expect.poll(() => hash(page)).toContain('line=5'); // its number in the program itself
    await way('published method').click();
    await page.locator('.loops-chart').waitFor();
    await accessible(page);
    expect(plain(await page.locator('.program-head').innerText())).toMatch(/^In loops: 80 % of the MPI calls and 70 % of the time in MPI\. Loops come from repetitions and the time between them\..* MPI; the method has no computing/);
    expect(await page.locator('.loops-chart .point').count()).toBe(4);
    expect(await page.locator('.loops-chart [data-loop="1"] rect').evaluateAll((l) => l.map((e) => e.getAttribute('fill')))).toHaveLength(2);
    expect(plain(await page.locator('.loops-plot .legend').innerText())).toBe('loop 1: 160 repetitions loop 2: 40 repetitions left out: 1 point');
    expect(plain(await page.locator('.loops-plot').innerText())).toContain('3 call paths reached once');
    await page.locator('.loops-plot summary').click();
    await page.locator('.listing-points').getByRole('button', { name: 'MPI_Wait@halo.c:51' }).click();
    await expect.poll(() => page.locator('.program-row.marked').getAttribute('data-id')).toBe('2');
    await page.locator('.listing-points').getByRole('button', { name: 'MPI_Init@app/main.c:5' }).click();
    await expect.poll(async () => plain(await page.locator('.loops-plot p[role=status]').innerText())).toContain('It is not in the text below.');
    await expect.poll(() => hash(page)).toContain('line=1');
    expect(errors).toEqual([]);
    await close();
  });

  test('names are text, and thousands of lines are shown', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => ({ id: i + 1, kind: 'call', function: i === 7 ? '<b>x</b>' : `f${i}`, file: 'a.c', line: i, body: [] }));
    const { page, errors, close } = await open(browser, report(make(written(RANKS, TRIPS, { body: many }))), 'view=program&at=2900');
    await expect.poll(() => marked(page)).toBe('f2899()');
    expect(await page.locator('.program-row.marked').isVisible()).toBe(true);
    expect(await lines(page)).toBe(3000);
    expect(await page.locator('main b').count()).toBe(0);
    expect(errors).toEqual([]);
    await close();
  });
});
