/** How long a page may work without a pause: a frame of a screen takes 16 ms. */
const CHUNK_MS = 10;

/** Carries out steps until they are done, and lets the page have its turn between some of them. */
export async function inChunks<Result>(
  steps: Generator<void, Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (;;) {
    signal.throwIfAborted();
    const untilMs = performance.now() + CHUNK_MS;
    while (performance.now() < untilMs) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
    // oxlint-disable-next-line no-await-in-loop -- the pause is what the loop is for
    await new Promise((resolve) => setTimeout(resolve));
  }
}
