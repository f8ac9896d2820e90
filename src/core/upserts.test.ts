import { describe, expect, it } from 'vitest';
import { readConfig } from '../config/config.js';
import { POINT_ID_BYTES } from './point-id.js';
import type { Rules } from './rules.js';
import { toUpdateBatch, toUpsertBatch, type UpsertList } from './upserts.js';

const RULES: Rules = { dimension: 2, limits: readConfig({}), defaultEf: 100 };

/** Points whose ids end in these numbers; 0 for one without an id. */
function listOf(...numbers: number[]): UpsertList {
  const ids = new Uint8Array(POINT_ID_BYTES * numbers.length);
  for (const [at, number] of numbers.entries()) ids[POINT_ID_BYTES * at + 15] = number;
  const count = numbers.length;
  return {
    ids,
    vectors: new Float32Array(2 * count),
    vectorEnds: Uint32Array.from(numbers, (_, at) => 2 * (at + 1)),
    contentTypes: new Uint8Array(count),
    contents: new Uint8Array(),
    contentEnds: new Uint32Array(count),
    metadata: new Uint8Array(),
    metadataEnds: new Uint32Array(count),
  };
}

describe('toUpsertBatch', () => {
  it('keeps given ids, and gives fresh ones of version 4 to points without', () => {
    const { ids } = toUpsertBatch(listOf(0, 7, 0), RULES);
    expect(ids.slice(16, 32)).toEqual(listOf(7).ids);
    const texts = [ids.slice(0, 16), ids.slice(32)].map((id) => Buffer.from(id).toString('hex'));
    for (const text of texts) expect(text).toMatch(/^.{12}4.{3}[89ab].{15}$/);
    expect(texts[0]).not.toBe(texts[1]);
  });

  it('says whether it has drawn all ids', () => {
    expect(toUpsertBatch(listOf(0, 0), RULES).areIdsDrawn).toBe(true);
    expect(toUpsertBatch(listOf(0, 7), RULES).areIdsDrawn).toBe(false);
  });

  it('refuses a vector of another dimension before a content behind it', () => {
    const list = { ...listOf(1, 2), vectorEnds: Uint32Array.of(2, 5) };
    const wrong = 'points[1]: vector has 3 dimensions, this service stores 2';
    const long = 'points[0]: content has 9 bytes, at most 1048576 are allowed (MAX_CONTENT_BYTES)';
    expect(() => toUpsertBatch(list, RULES)).toThrow(wrong);
    const both = { ...list, contentFault: { item: 0, bytes: 9 } };
    expect(() => toUpsertBatch(both, RULES)).toThrow(long);
    const behind = { ...list, contentFault: { item: 1 } };
    expect(() => toUpsertBatch(behind, RULES)).toThrow(wrong);
  });

  it('refuses an id that comes twice, but not two points without one', () => {
    const message = 'points[2]: id is that of points[0], expected each id once';
    expect(() => toUpsertBatch(listOf(3, 1, 3), RULES)).toThrow(message);
    expect(() => toUpsertBatch(listOf(0, 0), RULES)).not.toThrow();
  });
});

describe('toUpdateBatch', () => {
  it('holds payloads to the same rules', () => {
    const update = (...numbers: number[]) => ({ ...listOf(...numbers), given: new Uint8Array() });
    expect(toUpdateBatch(update(1, 2), RULES).ids).toEqual(listOf(1, 2).ids);
    expect(() => toUpdateBatch(update(1, 1), RULES)).toThrow('points[1]: id is that of points[0]');
    const surrogate = { ...update(1), contentFault: { item: 0 } };
    const message = 'points[0]: content holds a lone surrogate, expected Unicode text';
    expect(() => toUpdateBatch(surrogate, RULES)).toThrow(message);
  });
});
