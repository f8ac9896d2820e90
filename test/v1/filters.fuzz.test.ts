import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client, Filter, NewPoint } from '../../src/client/node.js';
import { all, expectFailure, id, open, PROTOCOLS } from '../client/open.js';
import { hasEmpty, passes } from '../support/filter-model.js';
import { filters, metadata } from '../support/filters.js';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import { startServer, type TestServer } from '../support/server.js';

/*
 * Any filter, over both protocols: each answer is that of a plain list of points.
 */

/** In the order of their distances from the origin, which is that in which they were written. */
const POINTS = fc.sample(metadata, { numRuns: 60, seed: 7 }).map((one, at) => ({
  id: id(at + 1),
  vector: [at, 0],
  contentType: at % 3 === 0 ? ('Image' as const) : ('Text' as const),
  content: '',
  metadata: one,
})) satisfies NewPoint[];

const IDS = POINTS.slice(-5).map((point) => point.id);
const filter = filters([...IDS, id(POINTS.length + 1)]);

const NOTHING_NAMED =
  /^filter(\.\$(not|and\[\d+\]|or\[\d+\]))* is empty, expected at least one condition/;

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
  await open(server, 'grpc').upsert(POINTS);
});

afterAll(() => {
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

function passing(asked: Filter): string[] {
  return POINTS.filter((point) => passes(asked, point)).map((point) => point.id);
}

async function idsOf(found: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  return (await all(found)).map((point) => point.id);
}

test('the points are not all alike to filters', () => {
  const counts = fc.sample(filter, { numRuns: 200, seed: 7 }).map((one) => passing(one).length);
  const some = counts.filter((count) => count > 0 && count < POINTS.length);
  expect(some.length).toBeGreaterThan(50);
});

describe.each(PROTOCOLS)('over %s', (protocol) => {
  let client: Client;

  beforeAll(() => {
    client = open(server, protocol);
  });

  test(
    'counts, scrolls and searches answer any filter as a list does',
    async () => {
      const run = async (asked: Filter): Promise<void> => {
        const expected = passing(asked);
        expect(await client.count({ filter: asked })).toBe(expected.length);
        expect(await idsOf(client.scroll({ filter: asked, include: [] }))).toEqual(expected);
        const query = {
          vector: [0, 0],
          similarity: 'Euclidean',
          limit: 100,
          filter: asked,
          include: [],
        } as const;
        const lists = await client.searchAll([query, { ...query, exact: true, limit: 3 }]);
        expect(lists.map((list) => list.map((point) => point.id))).toEqual([
          expected,
          expected.slice(0, 3),
        ]);
      };
      const asked = fc.array(filter, { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(asked, async (each) => void (await Promise.all(each.map(run)))),
        fuzzing(40),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'a delete deletes what passes any filter, and nothing else',
    async () => {
      const own = await startServer({ dimension: 2 });
      const owner = open(own, protocol);
      const run = async (asked: Filter): Promise<void> => {
        await owner.upsert(POINTS);
        if (hasEmpty(asked)) {
          await expectFailure(owner.deleteMatching(asked), 'INVALID_ARGUMENT', NOTHING_NAMED);
          return;
        }
        const gone = new Set(passing(asked));
        const answer = await owner.deleteMatching(asked);
        expect(answer).toEqual({ deleted: gone.size, missing: [] });
        const left = await idsOf(owner.scroll({ include: [] }));
        expect(left).toEqual(POINTS.map((point) => point.id).filter((each) => !gone.has(each)));
      };
      await fc.assert(fc.asyncProperty(filter, run), fuzzing(100));
      expect(own.log()).not.toMatch(/"level":"(error|fatal)"/);
    },
    FUZZ_TIMEOUT_MS,
  );
});
