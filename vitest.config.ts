import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', '{bench,scripts}/**/*.test.mjs'],
    // Most of their time is spent waiting for the processes that they start.
    maxWorkers: 4,
    // Black-box tests start servers and wait for disks.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // What is waited for comes at once, but not on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
});
