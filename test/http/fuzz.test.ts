import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countPoints } from '../support/count-points.js';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import { arrayText, bytesOf, numberText, objectText, stringText } from '../support/json-texts.js';
import { startServer, type TestServer } from '../support/server.js';
import { DIMENSION, expectAnswer, type StoredPoint } from './model.js';

/*
 * Bodies that nobody would write, to every route that takes one: each request ends as the contract
 * says, and what is refused is not stored.
 */

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
});

afterAll(async () => {
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

/** A good value, or now and then one of a few others. */
function mostly(good: fc.Arbitrary<string>, ...others: readonly string[]): fc.Arbitrary<string> {
  const odd = fc.constantFrom(...others, 'null', '""', '[]', '{}', 'true', '-1', '0.5');
  return fc.oneof({ weight: 40, arbitrary: good }, { weight: 1, arbitrary: odd });
}

const values = fc.array(numberText, { minLength: DIMENSION, maxLength: DIMENSION });
const vector = mostly(arrayText(values), '[1,2,3]', '[1,2,3,4,5]', '[1,2,3,"4"]', '[1,2,3,4,]');
const content = fc.oneof(
  { weight: 30, arbitrary: fc.string({ unit: 'binary', maxLength: 9 }) },
  { weight: 1, arbitrary: fc.constantFrom('\ud800', 'a\udc00', '\udc00\ud800') },
);
const payload = objectText({
  content_type: mostly(stringText(fc.constantFrom('Text', 'Image')), '"text"', '1'),
  content: mostly(stringText(content), '5'),
});
const point = objectText({ vector, payload: mostly(payload, '[{}]') });

const count = fc.constantFrom('1', '2', '10', '1e2', '20000000', '9007199254740993', '1e300');
const query = fc.oneof(
  objectText({ vector, ...similarityAndLimit() }),
  objectText({ vector, ...similarityAndLimit(), ef: mostly(count, '0', '-0', '1e999') }),
);

function similarityAndLimit(): Record<'similarity' | 'limit', fc.Arbitrary<string>> {
  const names = fc.constantFrom('Euclidean', 'Manhattan', 'Hamming', 'Cosine');
  return {
    similarity: mostly(stringText(names), '"cosine"', '3', '"__proto__"'),
    limit: mostly(count, '0', '-0', '1.5', '1e999', '"1"'),
  };
}

function batch(name: string, item: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return objectText({ [name]: mostly(arrayText(fc.array(item, { maxLength: 3 })), '5') });
}

const BODIES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  '/points': point,
  '/points/batch': batch('vectors', point),
  '/points/search': query,
  '/points/search/batch': batch('queries', query),
};

async function post(path: string, body: Uint8Array): Promise<Response> {
  return await fetch(server.http + path, {
    method: 'POST',
    headers: { 'api-key': server.keys.readwrite, 'content-type': 'application/json' },
    body: Uint8Array.from(body),
  });
}

/** What is stored under an id, its values as single precision has them. */
async function getPoint(id: string): Promise<StoredPoint> {
  const headers = { 'api-key': server.keys.readonly };
  const answer = await fetch(`${server.http}/points/${id}`, { headers });
  const { vector: stored, payload: kind } = (await answer.json()) as StoredPoint;
  // The shortest text that reads back as the same f32 is not always that of the same double.
  return { vector: stored.map(Math.fround), payload: kind };
}

/** The ids in the answer to an insert, of which a refusal has none. */
function idsIn(status: number, body: string): readonly string[] {
  if (status !== 201) return [];
  const { point_id: id, point_ids: ids } = JSON.parse(body) as {
    point_id?: string;
    point_ids?: readonly string[];
  };
  return ids ?? [id ?? 'none'];
}

const TYPES: Readonly<Record<number, string>> = {
  200: 'application/json; charset=utf-8',
  201: 'application/json; charset=utf-8',
  400: 'text/plain; charset=utf-8',
  413: 'text/plain; charset=utf-8',
};

test.each(Object.entries(BODIES))(
  'POST %s answers bodies that nobody would write as the contract says',
  async (path, text) => {
    let points = await countPoints(server);
    const run = async (bytes: Uint8Array): Promise<void> => {
      const expected = expectAnswer(path, bytes);
      const answer = await post(path, bytes);
      expect(answer.status).toBe(expected.status);
      expect(answer.headers.get('content-type')).toBe(TYPES[answer.status]);
      // Every answer is read to its end: its connection is not free before.
      const ids = idsIn(answer.status, await answer.text());
      points += ids.length;
      expect(await Promise.all(ids.map(getPoint))).toEqual(expected.points);
    };
    const bodies = fc.array(bytesOf(text), { minLength: 1, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(bodies, async (all) => void (await Promise.all(all.map(run)))),
      fuzzing(40),
    );
    expect(await countPoints(server)).toBe(points);
  },
  FUZZ_TIMEOUT_MS,
);
