import { defineConfig } from 'vitest/config';

// One script and one style sheet with fixed names: Go puts both into report.html, where nothing can be fetched.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: false,
        entryFileNames: 'viewer.js',
        assetFileNames: 'viewer[extname]',
      },
    },
  },
  test: {
    include: ['test/**/*.spec.ts'],
    globalSetup: ['test/build.ts'],
    // What takes a moment here can take minutes on a machine that does other things too; only what hangs takes longer.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    fileParallelism: false,
  },
});
