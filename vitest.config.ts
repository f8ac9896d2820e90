import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** It compiles the engine, and would be the last to end. */
const LONGEST = 'test/docs/clone.test.ts';

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of vitest, not of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => Number(isLongest(other)) - Number(isLongest(one)));
  }
}

function isLongest({ moduleId }: TestSpecification): boolean {
  return moduleId.endsWith(LONGEST);
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', '{bench,scripts}/**/*.test.mjs'],
    sequence: { sequencer: LongestFirst },
    // Most of their time is spent waiting for the processes that they start.
    maxWorkers: 4,
    // Black-box tests start servers and wait for disks.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // What is waited for comes at once, but not on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
});
