import { expect, test } from 'vitest';
import { decodeOutcome, encodeOutcome } from './outcome.js';

const OUTCOME = {
  sequence: 2 ** 40,
  chain: 2 ** 32 - 1,
  stored: 1,
  replaced: 2,
  kept: 3,
  deleted: 2 ** 33,
  found: Uint8Array.of(0, 1),
  refused: { code: 'OTHER_COUNT', message: 'there are 2 points' },
};

test('an outcome is told whole', () => {
  expect(decodeOutcome(encodeOutcome(OUTCOME, true))).toEqual({ ...OUTCOME, isVoid: true });
});

test.each([
  { sequence: 1 },
  { chain: 1 },
  { stored: 9 },
  { replaced: 9 },
  { kept: 9 },
  { deleted: 9 },
  { found: Uint8Array.of(1, 1) },
  { refused: { code: 'OTHER_COUNT', message: 'there are 3 points' } },
])('an outcome with another %o has other bytes', (other) => {
  expect(encodeOutcome({ ...OUTCOME, ...other }, false)).not.toEqual(encodeOutcome(OUTCOME, false));
});
