import { VectordError, type ErrorCode } from '../../core/errors.js';
import type { Soon } from '../../core/points.js';
import type { OnRequestEnd } from '../../core/request-end.js';

/** What a shard says of itself, and not of the request: it is to be known which shard that is. */
const OF_SHARD: ReadonlySet<ErrorCode> = new Set([
  'UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'OVERLOADED',
  'STORAGE_FULL',
  'CONFLICT',
]);

/**
 * Asks the shards of all parts at one time, and answers what each has answered. The first failure is
 * that of all: nobody waits for the others any more.
 */
export async function askParts<Part extends { readonly shard: number }, Answer>(
  parts: readonly Part[],
  onRequestEnd: OnRequestEnd,
  ask: (part: Part, onEnd: OnRequestEnd) => Soon<Answer>,
): Promise<Answer[]> {
  const waiting = new Waiting(onRequestEnd);
  try {
    return await Promise.all(
      parts.map(async (part) => {
        try {
          return await ask(part, waiting.onEnd);
        } catch (error) {
          throw ofShard(error, part.shard);
        }
      }),
    );
  } catch (error) {
    waiting.end();
    throw error;
  }
}

/** The end of a request for all that work for it: the request itself has a listener once one of them has. */
class Waiting {
  readonly #listeners: (() => void)[] = [];
  #hasEnded = false;

  constructor(private readonly onRequestEnd: OnRequestEnd) {}

  readonly onEnd: OnRequestEnd = (listener) => {
    if (this.#hasEnded) return listener();
    this.#listeners.push(listener);
    if (this.#listeners.length === 1) this.onRequestEnd(() => this.end());
  };

  end(): void {
    this.#hasEnded = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** The error with the number of its shard, where that matters. */
export function ofShard(error: unknown, shard: number): unknown {
  if (!(error instanceof VectordError) || !OF_SHARD.has(error.code)) return error;
  return new VectordError(error.code, `shard ${shard}: ${error.message}`, { cause: error });
}
