// Builds the page as it is now, once for all tests, beside what is committed in dist.
import { build } from 'vite';

export const BUILT = new URL('../node_modules/.viewer-test/', import.meta.url).pathname;

export default async function setup(): Promise<void> {
  await build({ root: new URL('..', import.meta.url).pathname, logLevel: 'warn', build: { outDir: BUILT, emptyOutDir: true } });
}
