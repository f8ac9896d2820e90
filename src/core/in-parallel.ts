/**
 * Repeats `step` in so many places at one time until it answers false. The first failure ends all
 * places, behind the step that each is at.
 */
export async function inParallel(places: number, step: () => Promise<boolean>): Promise<void> {
  const failing = new AbortController();
  const work = async (): Promise<void> => {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one step after the other in each place
      while (!failing.signal.aborted && (await step()));
    } catch (error) {
      failing.abort();
      throw error;
    }
  };
  await Promise.all(Array.from({ length: places }, work));
}
