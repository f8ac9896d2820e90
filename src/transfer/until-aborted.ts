import { setImmediate as turn } from 'node:timers/promises';
import { onAbort } from '../client/on-abort.js';

/** Items that follow each other without a pause; a signal of the system is heard between two pauses. */
const TURN_EVERY = 256;

/**
 * The items, or, once a signal is aborted, undefined as the last one. An item that is still waited
 * for then is left to itself: it may be far away.
 */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item | undefined, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (let count = 1; ; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- the pause is between two items
      if (count % TURN_EVERY === 0) await turn();
      // oxlint-disable-next-line no-await-in-loop -- one item after the other
      const next = await unlessAborted(iterator.next(), signal);
      if (next?.done === true) return;
      yield next?.value;
      if (next === undefined) return;
    }
  } finally {
    const ended = iterator.return?.().catch(() => undefined);
    if (!signal.aborted) await ended;
  }
}

/** What a promise resolves to; undefined if the signal is aborted before. */
async function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  return await new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => resolve(undefined));
    promise.finally(stopListening).then(resolve, reject);
  });
}
