import { expect, test } from 'vitest';
import { StreamMessage } from '../../gen/vectord/cluster/v1/cluster.js';
import { encodeMessage, ENVELOPE_BYTES, isVoid, messageId, readMessage } from './message.js';

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

test('versions that knew no frames read what is in one', () => {
  const bytes = encodeMessage(SENDER, { part: PART });
  const message = StreamMessage.decode(bytes);
  expect(message).toMatchObject({ ...SENDER, part: PART });
  expect(readMessage(bytes)).toEqual({ kind: 'message', message, isFramed: true });
  // The frame is for good: these are its bytes, version 1 and kind 1.
  const unframed = StreamMessage.encode(message).finish();
  const frame = bytes.subarray(0, bytes.length - unframed.length);
  expect(Buffer.from(frame.subarray(0, 8)).toString('hex')).toBe('7a0a766563640101');
  expect(frame.length).toBe(12);
  expect(readMessage(unframed)).toEqual({ kind: 'message', message, isFramed: false });
});

test('every flipped bit and every cut of a message is noticed, or changes nothing', () => {
  const bytes = encodeMessage(SENDER, { part: PART.subarray(0, 20) });
  const whole = readMessage(bytes);
  const changed = Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const copy = bytes.slice();
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return copy;
  });
  const unnoticed = changed.filter((copy) => readMessage(copy).kind !== 'stray');
  for (const copy of unnoticed) expect(readMessage(copy)).toEqual({ ...whole, isFramed: false });
  // Behind what marks a frame each bit counts.
  expect(
    unnoticed.filter((copy) => Buffer.compare(copy.subarray(0, 6), bytes.subarray(0, 6)) === 0),
  ).toEqual([]);
  for (let length = 1; length < bytes.length; length += 1) {
    expect(readMessage(bytes.subarray(0, length)).kind).toBe('stray');
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
