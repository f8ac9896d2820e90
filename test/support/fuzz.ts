/**
 * How far random tests go. `npm run test:fuzz` sets VECTORD_FUZZ_RUNS. A failure prints a seed and a
 * path, and VECTORD_FUZZ_SEED and VECTORD_FUZZ_PATH bring it back.
 */
const LONG_RUNS = process.env['VECTORD_FUZZ_RUNS'];
const SEED = process.env['VECTORD_FUZZ_SEED'];
const PATH = process.env['VECTORD_FUZZ_PATH'];

/** Long runs are to end by themselves, whatever they find on the way. */
export const FUZZ_TIMEOUT_MS = LONG_RUNS === undefined ? 60_000 : 6 * 3_600_000;

/** What to hand to fast-check: so many runs in `npm test`, and more where they are asked for. */
export function fuzzing(shortRuns: number): { numRuns: number; seed?: number; path?: string } {
  return {
    numRuns: LONG_RUNS === undefined ? shortRuns : Number(LONG_RUNS),
    ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    ...(PATH === undefined ? {} : { path: PATH }),
  };
}
