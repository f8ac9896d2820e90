import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config/config.js';
import { VectordError } from '../../core/errors.js';
import { ContentType, Similarity } from '../../core/model.js';
import { parseJson } from './json-text.js';
import * as json from './json.js';

const point = { vector: [1, 2], payload: { content_type: 'Text', content: 'a' } };
const query = { vector: [1, 2], similarity: 'Cosine', limit: 3 };
const anySize = { maxBatch: Infinity };

/** The conversions of a body whose vectors JSON.parse has read. */
const toNewPoint = (value: unknown) => json.toNewPoint({ value });
const toQuery = (value: unknown) => json.toQuery({ value });
type Sized = typeof anySize;
const toNewPoints = (value: unknown, limits: Sized) => json.toNewPoints({ value }, limits);
const toQueries = (value: unknown, limits: Sized) => json.toQueries({ value }, limits);

/** The message with which a conversion refuses. */
function refusal(convert: () => unknown): string {
  try {
    convert();
  } catch (error) {
    if (error instanceof VectordError && error.code === 'INVALID_ARGUMENT') return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('toNewPoint', () => {
  it('converts the vector and the payload', () => {
    expect(toNewPoint(point)).toEqual({
      vector: Float32Array.of(1, 2),
      payload: { contentType: ContentType.Text, content: 'a' },
    });
  });

  it('ignores unknown fields, __proto__ among them', () => {
    const body: unknown = JSON.parse(
      '{"__proto__":{"vector":[9]},"constructor":1,"vector":[1,2],"x":[[]],' +
        '"payload":{"content_type":"Image","content":"","toString":1}}',
    );
    expect(toNewPoint(body).vector).toEqual(Float32Array.of(1, 2));
    expect(refusal(() => toNewPoint(JSON.parse('{"__proto__":{"vector":[1,2]}}')))).toBe(
      'vector is missing, expected an array of numbers',
    );
    expect(Object.prototype).not.toHaveProperty('vector');
  });

  it('takes the last of duplicate keys', () => {
    const body: unknown = JSON.parse(`{"vector":[5],${JSON.stringify(point).slice(1)}`);
    expect(toNewPoint(body).vector).toEqual(Float32Array.of(1, 2));
  });

  it('keeps every f32 that is written in a form which reads back as it, bit for bit', () => {
    const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(finite), (values) => {
        const sent = Float32Array.from(values);
        const texts = values.map((value) => (Object.is(value, -0) ? '-0.0' : String(value)));
        const vector: unknown = JSON.parse(`[${texts.join(',')}]`);
        const kept = toNewPoint({ ...point, vector }).vector;
        expect(Buffer.from(kept.buffer).equals(Buffer.from(sent.buffer))).toBe(true);
      }),
    );
  });

  it.each([
    [undefined, 'The body is missing, expected an object'],
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
    [
      JSON.parse('{"vector":[-1e999]}'),
      'vector[0] is out of range, expected a number within ±3.4028235e38',
    ],
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
    expect(refusal(() => toNewPoint(body))).toBe(message);
  });
});

describe('toQuery', () => {
  it('converts the fields, ef being optional', () => {
    const converted = { vector: Float32Array.of(1, 2), similarity: Similarity.Cosine, limit: 3 };
    expect(toQuery(query)).toEqual({ ...converted, ef: undefined });
    expect(toQuery({ ...query, ef: 7 })).toEqual({ ...converted, ef: 7 });
  });

  it.each(['Euclidean', 'Manhattan', 'Hamming', 'Cosine'] as const)('knows %s', (similarity) => {
    expect(toQuery({ ...query, similarity }).similarity).toBe(Similarity[similarity]);
  });

  it.each(['cosine', 'COSINE', '', 'toString', '__proto__', 3, null, undefined, ['Cosine']])(
    'refuses the similarity %j',
    (similarity) => {
      expect(refusal(() => toQuery({ ...query, similarity }))).toContain(
        'expected "Euclidean" or "Manhattan" or "Hamming" or "Cosine"',
      );
    },
  );

  it('takes whole numbers in every spelling, and beyond what a double holds exactly', () => {
    const limits = ['1', '1.0', '1e1', '9007199254740993', '18446744073709551615', '1e300'];
    for (const limit of limits) {
      const body: unknown = JSON.parse(`{"vector":[],"similarity":"Cosine","limit":${limit}}`);
      expect(toQuery(body).limit).toBe(Number(limit));
    }
  });

  it.each([1.5, -1, '3', null, [3], true])('refuses %j as limit and as ef', (number) => {
    const expected = 'expected a whole number, not negative';
    expect(refusal(() => toQuery({ ...query, limit: number }))).toMatch(/^limit is /);
    expect(refusal(() => toQuery({ ...query, ef: number }))).toMatch(/^ef is /);
    expect(refusal(() => toQuery({ ...query, ef: number }))).toContain(expected);
  });

  it('demands a limit', () => {
    expect(refusal(() => toQuery({ ...query, limit: undefined }))).toMatch(/^limit is missing/);
  });
});

describe('toNewPoints and toQueries', () => {
  it('convert each item in order, none included', () => {
    const vectors = [point, { ...point, vector: [3] }];
    expect(toNewPoints({ vectors }, anySize).map(({ vector }) => [...vector])).toEqual([
      [1, 2],
      [3],
    ]);
    expect(toQueries({ queries: [query] }, anySize)).toHaveLength(1);
    expect(toNewPoints({ vectors: [] }, anySize)).toEqual([]);
    expect(toQueries({ queries: [] }, anySize)).toEqual([]);
  });

  it('name the item and the field that are wrong', () => {
    const vectors = [point, point, { vector: [1] }];
    expect(refusal(() => toNewPoints({ vectors }, anySize))).toBe(
      'vectors[2].payload is missing, expected an object',
    );
    expect(refusal(() => toNewPoints({ vectors: [point, 5] }, anySize))).toBe(
      'vectors[1] is 5, expected an object',
    );
    expect(refusal(() => toQueries({ queries: [{ ...query, limit: 1.5 }] }, anySize))).toMatch(
      /^queries\[0\]\.limit is 1\.5/,
    );
  });

  it('demand an array', () => {
    expect(refusal(() => toNewPoints({}, anySize))).toMatch(/^vectors is missing/);
    expect(refusal(() => toQueries({ queries: {} }, anySize))).toMatch(/^queries is an object/);
  });

  it('count the items before they look at any', () => {
    const points = { vectors: [null, null] };
    expect(() => toNewPoints(points, { maxBatch: 1 })).toThrow(/^vectors has 2 items, at most 1 /);
    const queries = { queries: [null] };
    expect(() => toQueries(queries, { maxBatch: 0 })).toThrow(/^queries has 1 items, at most 0 /);
  });
});

it('contentTypeName gives back the name that was sent', () => {
  for (const content_type of ['Text', 'Image']) {
    const { payload } = toNewPoint({ ...point, payload: { content_type, content: '' } });
    expect(json.contentTypeName(payload.contentType)).toBe(content_type);
  }
});

describe('a body whose vectors the addon reads', () => {
  const limits = readConfig({});
  const read = (text: string) => parseJson(Buffer.from(text), limits);
  const outcome = (convert: () => unknown): unknown => {
    try {
      return convert();
    } catch (error) {
      return error instanceof VectordError ? error.message : error;
    }
  };

  it('is what JSON.parse makes of it, right or wrong', () => {
    const number = fc.oneof(
      fc.double().map((value) => JSON.stringify(value)),
      fc.constantFrom('-0', '1e39', '01', '1.', '.5', '"1"', 'null', '[1]', '1e-50', '-1E+2', ''),
    );
    const space = fc.constantFrom('', ' ', '\n\t');
    const array = fc
      .tuple(fc.array(number, { maxLength: 4 }), space)
      .map(([numbers, gap]) => `[${gap}${numbers.join(`${gap},${gap}`)}${gap}]`);
    const value = fc.oneof({ weight: 4, arbitrary: array }, number, fc.constant('{"vector":[1]}'));
    const key = fc.constantFrom('vector', 'vector', 'payload', '\\u0076ector', 'x', 'a\\"b', 'é');
    const after = fc.constantFrom('', '', '', '5', '.5', ' ', '}');
    const field = fc.tuple(key, space, value, after).map((parts) => {
      const [name, gap, content, rest] = parts;
      return `"${name}"${gap}:${gap}${content}${rest}`;
    });
    const payload = '"payload":{"content_type":"Text","content":"\\"vector\\":[1]"}';
    const item = fc.array(field, { maxLength: 4 }).map((all) => `{${[...all, payload].join()}}`);
    const body = fc.array(item, { maxLength: 20 }).map((all) => `{"vectors":[${all.join()}]}`);
    fc.assert(
      fc.property(body, (text) => {
        const whole = outcome(() => toNewPoints(JSON.parse(text), anySize));
        const lifted = outcome(() => json.toNewPoints(read(text), anySize));
        const isJson = !(whole instanceof SyntaxError);
        expect(lifted).toEqual(isJson ? whole : `The body is not valid JSON: ${whole.message}`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('has its vectors apart from the rest', () => {
    const { value, vectors } = read('{"vectors":[{"vector":[1,-0]},{"vector":[]}],"vector":[3]}');
    expect(value).toEqual({ vectors: [{ vector: 0 }, { vector: 1 }], vector: 2 });
    expect(vectors).toEqual([Float32Array.of(1, -0), new Float32Array(), Float32Array.of(3)]);
  });

  it('has no vector where there is but a number', () => {
    const one = { vector: [1], similarity: 'Cosine', limit: 1 };
    const text = JSON.stringify({ queries: [one, { ...one, vector: 0 }] });
    expect(refusal(() => json.toQueries(read(text), anySize))).toBe(
      'queries[1].vector is 0, expected an array of numbers',
    );
  });

  it('is refused where it is not UTF-8, whatever its vectors', () => {
    const bytes = Buffer.from('{"vector":[1],"payload":"\u00ff"}', 'latin1');
    expect(refusal(() => parseJson(bytes, limits))).toBe('The body is not valid UTF-8');
  });
});
