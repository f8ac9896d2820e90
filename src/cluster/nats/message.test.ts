import { expect, test } from 'vitest';
import { StreamMessage } from '../../gen/vectord/cluster/v1/cluster.js';
import { encodeMessage, ENVELOPE_BYTES, isVoid, messageId } from './message.js';

const SENDER = { gateway: '0123456789abcdef', request: 2 ** 32 - 1 };
const PART = new Uint8Array(1_000);

test('a message is void if it came too long after it was sent, or before', () => {
  const message = StreamMessage.decode(encodeMessage(SENDER, { part: PART }));
  const sentAtMs = Number(message.sentAtMs);
  expect(Math.abs(sentAtMs - Date.now())).toBeLessThan(1_000);
  for (const delayMs of [0, 30_000, -30_000]) {
    expect(isVoid(message, sentAtMs + delayMs)).toBe(false);
  }
  for (const delayMs of [30_001, -30_001, 120_000]) {
    expect(isVoid(message, sentAtMs + delayMs)).toBe(true);
  }
});

test('what surrounds the content of a message has room', () => {
  expect(encodeMessage(SENDER, { part: PART }).length).toBeLessThan(PART.length + ENVELOPE_BYTES);
});

test('each message of a gateway has an id of its own', () => {
  const ids = [1, 2].flatMap((request) =>
    [undefined, 0, 1].map((part) => messageId({ ...SENDER, request }, part)),
  );
  expect(new Set(ids).size).toBe(6);
});
