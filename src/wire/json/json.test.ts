import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arrayText,
  bytesOf,
  numberText,
  objectText,
  stringText,
} from '../../../test/support/json-texts.js';
import { readConfig } from '../../config/config.js';
import { VectordError } from '../../core/errors.js';
import { ContentType, Similarity } from '../../core/model.js';
import type { PointList } from '../../core/point-batch.js';
import * as json from './json.js';

const point = { vector: [1, 2], payload: { content_type: 'Text', content: 'a' } };
const query = { vector: [1, 2], similarity: 'Cosine', limit: 3 };
const limits = readConfig({});

const bytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
const readPoint = (body: unknown) => json.readPoint(bytes(body), limits);
const readPoints = (body: unknown) => json.readPoints(bytes(body), limits);
const readQuery = (body: unknown) => json.readQuery(bytes(body), limits);
const readQueries = (body: unknown) => json.readQueries(bytes(body), limits);
const readPointText = (text: string) => json.readPoint(Buffer.from(text), limits);

/** The message with which a body is refused. */
function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof VectordError && error.code === 'INVALID_ARGUMENT') return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('readPoint', () => {
  it('reads the vector and the payload', () => {
    expect(readPoint(point)).toEqual({
      vectors: Float32Array.of(1, 2),
      vectorEnds: Uint32Array.of(2),
      contentTypes: Uint8Array.of(ContentType.Text),
      contents: Uint8Array.of(0x61),
      contentEnds: Uint32Array.of(1),
    });
  });

  it('ignores unknown fields, __proto__ among them', () => {
    const { vectors } = readPointText(
      '{"__proto__":{"vector":[9]},"constructor":1,"vector":[1,2],"x":[[]],' +
        '"payload":{"content_type":"Image","content":"","toString":1}}',
    );
    expect(vectors).toEqual(Float32Array.of(1, 2));
    expect(refusal(() => readPointText('{"__proto__":{"vector":[1,2]}}'))).toBe(
      'vector is missing, expected an array of numbers',
    );
    expect(Object.prototype).not.toHaveProperty('vector');
  });

  it('takes the last of duplicate keys', () => {
    const text = `{"vector":[5],"vector":1e999,${JSON.stringify(point).slice(1)}`;
    expect(readPointText(text).vectors).toEqual(Float32Array.of(1, 2));
  });

  it('keeps every f32 that is written in a form which reads back as it, bit for bit', () => {
    const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(finite), (values) => {
        const sent = Float32Array.from(values);
        const texts = values.map((value) => (Object.is(value, -0) ? '-0.0' : String(value)));
        const text = JSON.stringify(point).replace('1,2', texts.join(','));
        const { buffer, byteOffset, byteLength } = readPointText(text).vectors;
        const kept = Buffer.from(buffer, byteOffset, byteLength);
        expect(kept.equals(Buffer.from(sent.buffer))).toBe(true);
      }),
    );
  });

  it.each([
    [null, 'The body is null, expected an object'],
    [[], 'The body is an array, expected an object'],
    ['x', 'The body is "x", expected an object'],
    [{}, 'vector is missing, expected an array of numbers'],
    [{ ...point, vector: null }, 'vector is null, expected an array of numbers'],
    [{ ...point, vector: {} }, 'vector is an object, expected an array of numbers'],
    [{ ...point, vector: [1, 'x'] }, 'vector[1] is "x", expected a number'],
    [{ ...point, vector: [[1]] }, 'vector[0] is an array, expected a number'],
    [{ ...point, vector: [true] }, 'vector[0] is true, expected a number'],
    [{ ...point, vector: [1, 1e39] }, 'vector[1] is 1e+39, expected a number within ±3.4028235e38'],
    [{ vector: [1] }, 'payload is missing, expected an object'],
    [{ ...point, payload: [] }, 'payload is an array, expected an object'],
    [
      { ...point, payload: { content: 'a' } },
      'payload.content_type is missing, expected "Image" or "Text"',
    ],
    [
      { ...point, payload: { content_type: 'text', content: 'a' } },
      'payload.content_type is "text", expected "Image" or "Text"',
    ],
    [
      { ...point, payload: { content_type: 1, content: 'a' } },
      'payload.content_type is 1, expected "Image" or "Text"',
    ],
    [
      { ...point, payload: { content_type: 'Text' } },
      'payload.content is missing, expected a string',
    ],
    [
      { ...point, payload: { content_type: 'Text', content: 5 } },
      'payload.content is 5, expected a string',
    ],
    [
      { ...point, vector: 'y'.repeat(100) },
      `vector is "${'y'.repeat(40)}...", expected an array of numbers`,
    ],
  ])('refuses %j', (body: unknown, message) => {
    expect(refusal(() => readPoint(body))).toBe(message);
  });

  it.each([
    ['{"vector":[-1e999]}', 'vector[0] is out of range, expected a number within ±3.4028235e38'],
    ['', 'The body is empty, expected a JSON object'],
    ['{"vector":5', 'The body is not valid JSON: EOF while parsing an object at line 1 column 11'],
    ['{"vector":5,}', 'The body is not valid JSON: key must be a string at line 1 column 13'],
    [
      '\ufeff{}',
      'The body is not valid JSON: it begins with a byte order mark (U+FEFF), expected none',
    ],
  ])('refuses the text %s', (text, message) => {
    expect(refusal(() => readPointText(text))).toBe(message);
  });

  it('refuses what is not UTF-8, wherever that is', () => {
    const text = Buffer.from('{"vector":[1],"x":"\u00ff"}', 'latin1');
    expect(refusal(() => json.readPoint(text, limits))).toBe('The body is not valid UTF-8');
  });
});

describe('readQuery', () => {
  it('reads the fields, ef being optional', () => {
    const read = { vector: Float32Array.of(1, 2), similarity: Similarity.Cosine, limit: 3 };
    expect(readQuery(query)).toEqual({ ...read, ef: 0 });
    expect(readQuery({ ...query, ef: 7 })).toEqual({ ...read, ef: 7 });
  });

  it.each(['Euclidean', 'Manhattan', 'Hamming', 'Cosine'] as const)('knows %s', (similarity) => {
    expect(readQuery({ ...query, similarity }).similarity).toBe(Similarity[similarity]);
  });

  it.each(['cosine', 'COSINE', '', 'toString', '__proto__', 3, null, undefined, ['Cosine']])(
    'refuses the similarity %j',
    (similarity) => {
      expect(refusal(() => readQuery({ ...query, similarity }))).toContain(
        'expected "Euclidean" or "Manhattan" or "Hamming" or "Cosine"',
      );
    },
  );

  it('takes whole numbers in every spelling, and beyond what a double holds exactly', () => {
    const texts = ['1', '1.0', '1e1', '9007199254740993', '18446744073709551615', '1e300'];
    for (const limit of texts) {
      const text = `{"vector":[],"similarity":"Cosine","limit":${limit}}`;
      expect(json.readQuery(Buffer.from(text), limits).limit).toBe(Number(limit));
    }
  });

  it.each([1.5, -1, '3', null, [3], true])('refuses %j as limit and as ef', (number) => {
    const expected = 'expected a whole number, not negative';
    expect(refusal(() => readQuery({ ...query, limit: number }))).toMatch(/^limit is /);
    expect(refusal(() => readQuery({ ...query, ef: number }))).toMatch(/^ef is /);
    expect(refusal(() => readQuery({ ...query, ef: number }))).toContain(expected);
  });

  it('demands a limit', () => {
    expect(refusal(() => readQuery({ ...query, limit: undefined }))).toMatch(/^limit is missing/);
  });
});

describe('readPoints and readQueries', () => {
  it('read each item in order, none included', () => {
    const { vectors, vectorEnds } = readPoints({ vectors: [point, { ...point, vector: [3] }] });
    expect([vectors, vectorEnds]).toEqual([Float32Array.of(1, 2, 3), Uint32Array.of(2, 3)]);
    expect(readQueries({ queries: [query, { ...query, ef: 4 }] })).toEqual({
      vectors: Float32Array.of(1, 2, 1, 2),
      vectorEnds: Uint32Array.of(2, 4),
      similarities: Uint8Array.of(3, 3),
      limits: Float64Array.of(3, 3),
      efs: Float64Array.of(0, 4),
    });
    expect(readPoints({ vectors: [] }).contentEnds).toEqual(new Uint32Array());
    expect(readQueries({ queries: [] }).limits).toEqual(new Float64Array());
  });

  it('name the item and the field that are wrong', () => {
    const vectors = [point, point, { vector: [1] }];
    expect(refusal(() => readPoints({ vectors }))).toBe(
      'vectors[2].payload is missing, expected an object',
    );
    expect(refusal(() => readPoints({ vectors: [point, 5] }))).toBe(
      'vectors[1] is 5, expected an object',
    );
    expect(refusal(() => readQueries({ queries: [{ ...query, limit: 1.5 }] }))).toMatch(
      /^queries\[0\]\.limit is 1\.5/,
    );
  });

  it('demand an array', () => {
    expect(refusal(() => readPoints({}))).toMatch(/^vectors is missing/);
    expect(refusal(() => readQueries({ queries: {} }))).toMatch(/^queries is an object/);
  });

  it('count the items before they look at any', () => {
    const few = { ...limits, maxBatch: 1 };
    const points = bytes({ vectors: [null, null] });
    expect(() => json.readPoints(points, few)).toThrow(/^vectors has 2 items, at most 1 /);
    const queries = bytes({ queries: [null, query, 5] });
    expect(() => json.readQueries(queries, few)).toThrow(/^queries has 3 items, at most 1 /);
  });
});

it('contentTypeName gives back the name that was sent', () => {
  for (const content_type of ['Text', 'Image'] as const) {
    const { contentTypes } = readPoint({ ...point, payload: { content_type, content: '' } });
    expect(contentTypes).toEqual(Uint8Array.of(ContentType[content_type]));
    expect(json.contentTypeName(ContentType[content_type])).toBe(content_type);
  }
});

describe('a body of points, however it is written', () => {
  const value = (good: fc.Arbitrary<string>) =>
    fc.oneof(
      { weight: 60, arbitrary: good },
      { weight: 1, arbitrary: fc.constantFrom('null', '5', '1e999', '"\\ud800"', '[[]]', '{}') },
    );
  const content = fc.oneof(
    { weight: 30, arbitrary: fc.string({ unit: 'binary', maxLength: 9 }) },
    { weight: 1, arbitrary: fc.constantFrom('\ud800', 'a\udc00', '\udc00\ud800') },
  );
  const payload = objectText({
    content_type: value(stringText(fc.constantFrom('Text', 'Image'))),
    content: value(stringText(content)),
  });
  const item = objectText({
    vector: value(arrayText(fc.array(numberText, { maxLength: 6 }))),
    payload: value(payload),
  });
  const body = objectText({ vectors: value(arrayText(fc.array(value(item), { maxLength: 3 }))) });

  it('is what JSON.parse makes of it, right or wrong', () => {
    fc.assert(
      fc.property(bytesOf(body), (text) => {
        expect(outcome(() => json.readPoints(text, limits))).toEqual(
          outcome(() => expectedPoints(text)),
        );
      }),
      { numRuns: 3_000 },
    );
  });
});

/** What was read, or the kind of the refusal: the parsers say in other words what is wrong. */
function outcome(read: () => PointList): unknown {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    return message.replace(/^(The body is not valid JSON).*/su, '$1');
  }
}

type Fields = Readonly<Record<string, unknown>>;

function expectedPoints(text: Buffer): PointList {
  const { vectors: items } = parsed(text, 'an object') as Fields;
  if (!Array.isArray(items)) throw unexpected(items, 'vectors', 'an array of objects');
  const vectors: number[] = [];
  const [vectorEnds, contentTypes, contentEnds]: [number[], number[], number[]] = [[], [], []];
  const contents: Buffer[] = [];
  let contentFault;
  for (const [index, item] of items.entries()) {
    const path = `vectors[${index}]`;
    const { vector, payload } = object(item, path);
    vectors.push(...expectedVector(vector, `${path}.vector`));
    vectorEnds.push(vectors.length);
    const { content_type, content } = object(payload, `${path}.payload`);
    if (content_type !== 'Image' && content_type !== 'Text') {
      throw unexpected(content_type, `${path}.payload.content_type`, '"Image" or "Text"');
    }
    contentTypes.push(ContentType[content_type]);
    if (typeof content !== 'string')
      throw unexpected(content, `${path}.payload.content`, 'a string');
    if (content.isWellFormed()) contents.push(Buffer.from(content));
    else contentFault ??= { item: index };
    contentEnds.push(Buffer.concat(contents).length);
  }
  const lists = {
    vectors: Float32Array.from(vectors),
    vectorEnds: Uint32Array.from(vectorEnds),
    contentTypes: Uint8Array.from(contentTypes),
    contents: Uint8Array.from(Buffer.concat(contents)),
    contentEnds: Uint32Array.from(contentEnds),
  };
  return contentFault === undefined ? lists : { ...lists, contentFault };
}

function parsed(text: Buffer, wanted: string): unknown {
  let decoded;
  try {
    decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    throw new Error('The body is not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(decoded);
  } catch {
    throw new Error(
      text.length === 0
        ? 'The body is empty, expected a JSON object'
        : 'The body is not valid JSON',
    );
  }
  if (!isObject(value)) throw unexpected(value, 'The body', wanted);
  return value;
}

function expectedVector(vector: unknown, path: string): number[] {
  if (!Array.isArray(vector)) throw unexpected(vector, path, 'an array of numbers');
  return vector.map((number: unknown, index) => {
    if (typeof number !== 'number') throw unexpected(number, `${path}[${index}]`, 'a number');
    if (Number.isFinite(Math.fround(number))) return number;
    throw unexpected(number, `${path}[${index}]`, 'a number within ±3.4028235e38');
  });
}

function object(value: unknown, path: string): Fields {
  if (isObject(value)) return value;
  throw unexpected(value, path, 'an object');
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unexpected(value: unknown, path: string, wanted: string): Error {
  return new Error(`${path} is ${described(value)}, expected ${wanted}`);
}

function described(value: unknown): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') {
    // Each byte of a lone surrogate in UTF-8 is no character.
    const text = Array.from(value, (unit) => (unit.isWellFormed() ? unit : '\ufffd'.repeat(3)));
    const whole = text.join('');
    return JSON.stringify(whole.length > 40 ? `${whole.slice(0, 40)}...` : whole);
  }
  return typeof value === 'number' && !Number.isFinite(value) ? 'out of range' : String(value);
}
