import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['bench/*.bench.ts'], globalSetup: ['test/build.ts'], testTimeout: 1_200_000, fileParallelism: false },
});
