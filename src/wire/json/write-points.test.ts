import { describe, expect, it } from 'vitest';
import type { Records } from '../../core/records.js';
import { writeChanged, writeFound, writeGot, writePage, type JsonChunks } from './write-points.js';

const ID = '00000000-0000-0000-0000-00000000000';
const EVERYTHING = 31;

function idsOf(...numbers: number[]): Uint8Array {
  const ids = new Uint8Array(16 * numbers.length);
  for (const [at, number] of numbers.entries()) ids[16 * at + 15] = number;
  return ids;
}

/** Two points, of which the second has no metadata. */
const RECORDS: Records = {
  ids: idsOf(1, 2),
  vectors: Float32Array.of(0.1, -0, 1e-45, 3),
  contentTypes: Uint8Array.of(1, 0),
  contents: new Uint8Array(Buffer.from('é"\n🦀')),
  contentEnds: Uint32Array.of(4, 8),
  metadata: new Uint8Array(Buffer.from('{"a":[1,2.50]}')),
  metadataEnds: Uint32Array.of(14, 14),
};

const read = (chunks: JsonChunks): unknown => JSON.parse(textOf(chunks));
const textOf = (chunks: JsonChunks): string => Buffer.concat([...chunks]).toString();

describe('answers of /v1', () => {
  it('hold of each point what is included, bit for bit and byte for byte', () => {
    const form = { include: EVERYTHING - 16, base64: false };
    const text = textOf(writeGot(RECORDS, idsOf(7), form));
    expect(text).toBe(
      `{"points":[{"id":"${ID}1","vector":[0.1,-0.0],"content_type":"Text",` +
        '"content":"é\\"\\n","metadata":{"a":[1,2.50]}},' +
        `{"id":"${ID}2","vector":[1e-45,3.0],"content_type":"Image","content":"🦀",` +
        `"metadata":null}],"missing":["${ID}7"]}`,
    );
  });

  it('hold vectors as base64 of their floats where that is asked for', () => {
    const page = read(writePage(RECORDS, 'next', { include: 1, base64: true }));
    const base64 = (...values: number[]) =>
      Buffer.from(Float32Array.from(values).buffer).toString('base64');
    expect(page).toEqual({
      points: [
        { id: `${ID}1`, vector: base64(0.1, -0) },
        { id: `${ID}2`, vector: base64(1e-45, 3) },
      ],
      next: 'next',
    });
  });

  it('hold ids alone where nothing is included, and null where there is no next', () => {
    const none = new Uint8Array();
    const empty: Records = { ...RECORDS, ids: none, vectors: new Float32Array() };
    expect(read(writePage(empty, undefined, { include: 0, base64: false }))).toEqual({
      points: [],
      next: null,
    });
    const got = read(writeGot(RECORDS, none, { include: 0, base64: false }));
    expect(got).toEqual({ points: [{ id: `${ID}1` }, { id: `${ID}2` }], missing: [] });
    const changed = { count: 3, missing: idsOf(1, 2) };
    expect(textOf(writeChanged('updated', changed))).toBe(
      `{"updated":3,"missing":["${ID}1","${ID}2"]}`,
    );
  });

  it('of one query are a list, of several a list of lists, each with its own parts', () => {
    const distances = Float64Array.of(0, 2.5e-300);
    const one = { counts: Uint32Array.of(2), distances, records: RECORDS };
    const form = { includes: Uint8Array.of(16), isList: false, base64: false };
    expect(read(writeFound(one, form))).toEqual({
      results: [
        { id: `${ID}1`, distance: 0 },
        { id: `${ID}2`, distance: 2.5e-300 },
      ],
    });
    const counts = Uint32Array.of(1, 0, 1);
    const several = { counts, distances, records: RECORDS };
    const forms = { includes: Uint8Array.of(2, 16, 20), isList: true, base64: false };
    expect(read(writeFound(several, forms))).toEqual({
      results: [
        [{ id: `${ID}1`, content_type: 'Text' }],
        [],
        [{ id: `${ID}2`, distance: 2.5e-300, content: '🦀' }],
      ],
    });
  });

  it('come in chunks where they are long', () => {
    const count = 5_000;
    const contents = new Uint8Array(100 * count).fill(0x61);
    const records: Records = {
      ...RECORDS,
      ids: new Uint8Array(16 * count),
      contents,
      contentEnds: Uint32Array.from({ length: count }, (_, at) => 100 * (at + 1)),
    };
    const chunks = [...writePage(records, undefined, { include: 4, base64: false })];
    expect(chunks.length).toBeGreaterThan(5);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(70_000);
    const { points } = JSON.parse(Buffer.concat(chunks).toString()) as { points: object[] };
    expect(points).toHaveLength(count);
  });
});
