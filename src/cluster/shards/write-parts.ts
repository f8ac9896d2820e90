import { VectordError } from '../../core/errors.js';
import { messageOf } from '../../core/start-error.js';
import { ofShard } from './ask-parts.js';

/** What a message says of a write that failed in part. */
export interface PartWords<Part> {
  /** What a part is about, as `2 points: points[0], points[3]`. */
  readonly about?: (part: Part) => string;
  /** What the client can do: one clause. */
  readonly mend: string;
}

/**
 * Writes the parts of a request, each to its shard, all at one time; answers what each has answered.
 * Where some fail, the error says what is written; if that is nothing, it is that of the first part.
 */
export async function writeParts<Part extends { readonly shard: number }, Answer>(
  parts: readonly Part[],
  write: (part: Part) => Promise<Answer>,
  words: PartWords<Part>,
): Promise<Answer[]> {
  const results = await Promise.allSettled(parts.map(write));
  const written: Answer[] = [];
  const fates: Fates<Part> = { written: [], refused: [], unknown: [] };
  for (const [at, part] of parts.entries()) {
    const result = results[at];
    if (result?.status === 'fulfilled') {
      written.push(result.value);
      fates.written.push({ part });
    } else {
      const error: unknown = result?.reason;
      fates[isRefused(error) ? 'refused' : 'unknown'].push({ part, error });
    }
  }
  const failures = [...fates.refused, ...fates.unknown];
  const [first] = failures;
  if (first === undefined) return written;
  const isNothingWritten = fates.refused.length === parts.length;
  if (isNothingWritten || parts.length === 1) throw ofShard(first.error, first.part.shard);
  throw writtenInPart(fates, words);
}

interface Fate<Part> {
  readonly part: Part;
  readonly error?: unknown;
}

type Fates<Part> = Record<'written' | 'refused' | 'unknown', Fate<Part>[]>;

/** Whether nothing was written, for certain. */
function isRefused(error: unknown): boolean {
  return error instanceof VectordError && !['OUTCOME_UNKNOWN', 'INTERNAL'].includes(error.code);
}

/** Nobody may think that nothing was written: no code says that but the one for what is not known. */
function writtenInPart<Part extends { readonly shard: number }>(
  { written, refused, unknown }: Fates<Part>,
  { about, mend }: PartWords<Part>,
): VectordError {
  const list = (verb: string, fates: readonly Fate<Part>[]): string[] => {
    const [first] = fates;
    if (first === undefined) return [];
    const shards = fates.map(({ part }) => {
      const what = about === undefined ? '' : ` (${about(part)})`;
      return `shard ${part.shard}${what}`;
    });
    const why = first.error === undefined ? '' : `, as ${messageOf(first.error)}`;
    return [`${verb} in ${shards.join(' and ')}${why}`];
  };
  const text = [
    ...list('written', written),
    ...list('not written', refused),
    ...list('not known to be written', unknown),
  ].join('; ');
  return new VectordError(
    'OUTCOME_UNKNOWN',
    `the request may be written in part: ${text}; ${mend}`,
    {
      cause: (refused[0] ?? unknown[0])?.error,
    },
  );
}

/** So many items of a part are named. */
const NAMED = 3;

/** Names the items of a part. */
export function nameItems(indices: Uint32Array, name: (index: number) => string): string {
  const names = Array.from(indices.subarray(0, NAMED), name);
  if (indices.length > NAMED) names.push('...');
  return `${indices.length} ${indices.length === 1 ? 'point' : 'points'}: ${names.join(', ')}`;
}
