// The overview and the list of files draw what the pack says.
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, launch, open, report } from './browser';
import { COLOURS, synthetic } from './synthetic';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const run = synthetic({ ranks: 8, iterations: 20, clusters: 4 });
const computing = run.seconds.reduce((a, b) => a + b);

test('the bar of time has each cluster in its colour, as wide as its time', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes));
  const parts = await page.locator('.timebar rect').evaluateAll((rects) =>
    rects.map((r) => ({ id: r.getAttribute('data-part'), fill: r.getAttribute('fill'), width: r.getBoundingClientRect().width })),
  );
  expect(parts.map((p) => p.id)).toEqual(['1', '2', '3', '4', '-1', 'mpi']);
  expect(parts.slice(0, 4).map((p) => p.fill)).toEqual(COLOURS.slice(0, 4));
  const computed = parts.slice(0, 5).reduce((sum, p) => sum + p.width, 0);
  for (const p of parts.slice(0, 4)) expect(p.width / computed).toBeCloseTo((run.seconds[Number(p.id)] ?? NaN) / computing, 2);

  await page.locator('.timebar rect[data-part="2"]').hover();
  expect(await page.locator('.tip').innerText()).toMatch(/cluster 2[\s\S]*share/);
  await page.locator('.timebar rect[data-part="2"]').click();
  expect(await page.locator('.chip').allInnerTexts()).toEqual([expect.stringContaining('cluster 2')]);
  expect(await page.locator('tr.chosen').innerText()).toContain('cluster 2');
  expect(errors).toEqual([]);
  await close();
});

test('the table has the clusters of clusters.json, and CSV has their full figures', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), '', { permissions: ['clipboard-read', 'clipboard-write'] });
  const rows = page.locator('.clusters-by-time tbody tr');
  expect(await rows.count()).toBe(5);
  for (let id = 1; id <= 4; id++) {
    const cells = await rows.nth(id - 1).locator('td').allInnerTexts();
    expect(cells[0]).toContain(`cluster ${id}`);
    expect(cells[3]).toBe((run.bursts[id] ?? NaN).toLocaleString('en-US'));
  }
  const noise = (await rows.last().locator('td').allInnerTexts()).map((s) => s.replace(/\s/g, ' '));
  expect([noise[0]?.trim(), noise[4], noise[5]]).toEqual(['noise', expect.stringMatching(/^[\d.]+ [mµ]s$/), '0.50'] as string[]);
  const copied = page.waitForFunction(() => [...document.querySelectorAll('.said')].some((e) => e.textContent === 'Copied')); // in every frame: it is said for moments
  await page.locator('.panel', { hasText: 'Clusters by time' }).getByRole('button', { name: 'Copy CSV' }).click();
  await copied;
  const csv = (await page.evaluate(() => navigator.clipboard.readText())).trim().split(/\r?\n/);
  expect(csv[0]).toBe('cluster,seconds,share,bursts,mean_ns,std_ns,score,before,after');
  expect(csv).toHaveLength(6);
  expect(Number(csv[2]?.split(',')[1])).toBe(run.seconds[2]);
  expect(csv[5]).toMatch(/^-1,/);
  expect(csv[5]?.split(',').slice(3, 8)).toEqual([`${run.bursts[0] ?? NaN}`, expect.any(String), '', '0.5', ''] as string[]);
  expect(errors).toEqual([]);
  await close();
});

test('a finding leads to the view that shows it', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes));
  const text = await page.locator('.findings').innerText();
  expect(text).toMatch(/Cluster 1 takes/);
  expect(text).toMatch(/Rank 5 spends 3\d[.\d]*\s%\smore in cluster 2 than its class/);
  expect(text).toMatch(/Rank 5 is unlike its class/);
  expect(errors).toEqual([]);
  await close();
});

test('pictures are saved as PNG and SVG', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), '', { acceptDownloads: true });
  const save = async (name: string) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).first().click()]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
  };
  const svg = await save('SVG');
  expect(svg.name).toBe('halo-time.svg');
  const text = svg.bytes.toString();
  for (const colour of COLOURS.slice(0, 4)) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    expect(text).toContain(`fill: rgb(${r}, ${g}, ${b})`);
  }
  const png = await save('PNG');
  expect(png.name).toBe('halo-time.png');
  expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
  const width = await page.locator('.timebar').evaluate((e) => e.getBoundingClientRect().width);
  expect(png.bytes.readUInt32BE(16)).toBe(Math.ceil(width * 2));
  expect(errors).toEqual([]);
  await close();
});

test('files are listed with their sizes, and those with plain names are links', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=files');
  const rows = await page.locator('.files tbody tr').allInnerTexts();
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatch(/trace\.prv\s+781\sKiB\s+what is kept, for Paraver\s+Paraver/);
  expect(rows[3]).toMatch(/manifest\.json\s+114\sKiB\s+description of the run/); // 1 MiB of the directory less the others
  expect(await page.locator('.files .note').first().innerText()).toBe('4 files, 1\u202fMiB');
  expect(await page.locator('.files tbody a').evaluateAll((links) => links.map((a) => a.getAttribute('href')))).toEqual(['./trace.prv', './bursts.parquet', './clusters.json', './manifest.json']);
  await accessible(page);
  expect(errors).toEqual([]);
  await close();
});

test('a click hands the trace to the Perfetto UI, and nothing else leaves the page', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=files', { offline: false });
  await page.context().route('https://ui.perfetto.dev/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<script>
        addEventListener('message', (e) => {
          if (e.data === 'PING') setTimeout(() => e.source.postMessage('PONG', '*'), 300);
          else window.got = e.data.perfetto;
        });
      </script>`,
    }),
  );
  const [ui] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('button', { name: 'Open in the Perfetto UI' }).click()]);
  await expect.poll(() => page.locator('.opening [role=status]').innerText()).toBe('The Perfetto UI has the trace.');
  const got = await ui.evaluate(() => {
    const { buffer, title } = (window as unknown as { got: { buffer: ArrayBuffer; title: string } }).got;
    return { title, text: new TextDecoder().decode(buffer) };
  });
  expect(got.title).toBe('halo · moriens');
  const { traceEvents } = JSON.parse(got.text) as { traceEvents: { cat?: string }[] };
  expect(traceEvents.filter((e) => e.cat === 'burst')).toHaveLength(run.points);
  expect(errors).toEqual([]);
  await close();
});

test('the same trace can be saved', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=files', { acceptDownloads: true });
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save for Perfetto' }).click()]);
  expect(file.suggestedFilename()).toBe('halo-perfetto.json');
  expect(JSON.parse(readFileSync(await file.path(), 'utf8'))).toHaveProperty('traceEvents');
  expect(errors).toEqual([]);
  await close();
});

test('how far off windows are says what is not from them', async () => {
  const { page, errors, close } = await open(browser, report(run.bytes), 'view=overview');
  const figure = page.locator('.figures > div', { hasText: 'From windows' });
  expect(await figure.locator('dt').innerText()).toBe('From windows');
  expect(await figure.locator('dd').innerText()).toMatch(/^0\.4\s% \(worst: cluster 2, 1\.2\s%\); the rest from the sample$/);
  expect(errors).toEqual([]);
  await close();
});

test('a run whose bursts were kept on their nodes shows how many ranks are in full, and the certificate', async () => {
  const cells = { ranks_in_full: 3, ranks_in_sum: 5, ranks_silent: 0, side: 0.025, floor: 0.1, bound: false, exact: true, units_in_question: 0, bursts_in_question: 0 };
  const said = async (of: Record<string, unknown>) => {
    const { page, errors, close } = await open(browser, report(synthetic({ ranks: 8, iterations: 20, clusters: 4, manifest: { cells: of } }).bytes));
    const text = await page.locator('.panel', { hasText: 'What was kept' }).locator('p').allInnerTexts();
    expect(errors).toEqual([]);
    await close();
    return text.join(' ');
  };
  expect(await said(cells)).toMatch(/3\sranks in full, the other 5 as totals only\. By the certificate, the clusters of all ranks equal those of the individual bursts\./);
  const text = await said({ ...cells, exact: false, units_in_question: 2, bursts_in_question: 1400, bound: true, ranks_silent: 1 });
  expect(text).toMatch(/no data from 1\smore rank/);
  expect(await said({ ranks_silent: 8 })).toMatch(/0\sranks in full; no data from 8\smore ranks\.$/);
  expect(text).toMatch(/depend on the positions of 1,400\sbursts in 2\smicro-cells, which are no longer known, with no Eps below 0\.100/);
  const { page, close } = await open(browser, report(run.bytes));
  expect(await page.locator('.panel', { hasText: 'What was kept' }).locator('p').count()).toBe(0);
  await close();
});
