// A browser with a page in it. What the page reports as an error fails the test.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { BUILT } from './build';
import { embed } from './pack';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

// PATIENCE is how long the browser may take over anything on a machine that does other things too, in ms.
const PATIENCE = 120_000;

export async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    timeout: PATIENCE,
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  });
  browser.on('context', (context) => {
    context.setDefaultTimeout(PATIENCE);
  });
  return browser;
}

// report makes what report.html is: the page with its script, style and pack inside. null leaves the pack out.
export function report(pack: Uint8Array | null, embedded = pack && embed(pack)): string {
  const read = (name: string) => readFileSync(join(BUILT, name), 'utf8');
  const data = embedded === null ? '' : `<script type="text/plain" id="pack">${embedded}</script>`;
  return read('index.html')
    .replace(/<script[^>]*src="[^"]*viewer\.js"[^>]*><\/script>/, '')
    .replace(/<link[^>]*href="[^"]*viewer\.css"[^>]*>/, () => `<style>${read('viewer.css')}</style>`)
    .replace('</body>', () => `${data}<script type="module">${read('viewer.js')}</script></body>`);
}

export interface Opened {
  readonly page: Page;
  readonly errors: string[];
  readonly close: () => Promise<void>;
}

// open shows HTML from disk with the network off. hash is the part of the address behind "#".
export async function open(browser: Browser, html: string, hash = '', options: BrowserContextOptions = {}): Promise<Opened> {
  const dir = mkdtempSync(join(tmpdir(), 'viewer-'));
  const file = join(dir, 'report.html');
  writeFileSync(file, html);
  const opened = await openAt(browser, `file://${file}${hash && `#${hash}`}`, { offline: true, ...options });
  return {
    ...opened,
    close: async () => {
      await opened.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

// openAt shows what is at an address.
export async function openAt(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1366, height: 768 }, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') errors.push(m.text());
  });
  page.on('dialog', (d) => {
    errors.push(`a dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('request', (r) => {
    const own = address.startsWith('http') && r.url().startsWith(new URL(address).origin);
    if (!own && !/^(file|data|blob):/.test(r.url())) errors.push(`a request left the page: ${r.url()}`);
  });
  await page.goto(address);
  await page.waitForSelector('main');
  return { page, errors, close: () => context.close() };
}

// accessible fails where axe sees something serious or worse.
export async function accessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run();
    return violations
      .filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(' | ')}`);
  });
  expect(found).toEqual([]);
}
