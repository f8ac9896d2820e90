import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.mjs'],
    // Black-box tests start servers and wait for disks.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
