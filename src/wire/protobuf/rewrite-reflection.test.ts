import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../../../test/support/fuzz.js';
import { reflectionRequest } from '../../../test/support/messages.js';
import { mutated } from '../../../test/support/mutate.js';
import { REFLECTION, decode, type Message } from '../../../test/support/reference-protobuf.js';
import { VectordError } from '../../core/errors.js';
import { rewriteReflectionRequest } from './rewrite-reflection.js';

const MALFORMED = 'malformed';

function rewritten(bytes: Uint8Array): Message | string {
  try {
    return decode(REFLECTION, rewriteReflectionRequest(bytes));
  } catch (error) {
    if (error instanceof VectordError && error.code === 'INVALID_ARGUMENT') return MALFORMED;
    throw error;
  }
}

function asSent(bytes: Uint8Array): Message | string {
  try {
    return decode(REFLECTION, bytes);
  } catch {
    return MALFORMED;
  }
}

test(
  'a request means what it meant, or is malformed',
  () => {
    const requests = fc.oneof(reflectionRequest, mutated(reflectionRequest));
    fc.assert(
      fc.property(requests, (bytes) => {
        expect(rewritten(bytes)).toEqual(asSent(bytes));
      }),
      fuzzing(1_000),
    );
  },
  FUZZ_TIMEOUT_MS,
);
