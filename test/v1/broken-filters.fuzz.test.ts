import { credentials, Client as RawClient, Metadata, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFilter } from '../../src/client/filter.js';
import { wireFilter } from '../../src/client/grpc/filters.js';
import type { Filter, NewPoint } from '../../src/client/node.js';
import * as generated from '../../src/gen/vectord/v1/points.js';
import { id, open } from '../client/open.js';
import { hasEmpty, passes } from '../support/filter-model.js';
import { filters, metadata, plainText, textOf } from '../support/filters.js';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import { arrayText, bytesOf, objectText } from '../support/json-texts.js';
import { mutated } from '../support/mutate.js';
import { startServer, type TestServer } from '../support/server.js';

/*
 * Filters that nobody would write, to every operation that takes one: what is wrong is named by its
 * place, and nothing else happens.
 */

const OPERATIONS = ['count', 'scroll', 'search', 'delete'] as const;
type Operation = (typeof OPERATIONS)[number];

/** A request that has not been answered by then hangs. */
const HANG_MS = 20_000;

/** In the order of their distances from the origin, which is that in which they were written. */
const POINTS = fc.sample(metadata, { numRuns: 30, seed: 8 }).map((one, at) => ({
  id: id(at + 1),
  vector: [at, 0],
  contentType: 'Text' as const,
  content: '',
  metadata: one,
})) satisfies NewPoint[];

const good = filters([id(1), id(100)]);

let server: TestServer;
let raw: RawClient;

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
  raw = new RawClient(server.grpc, credentials.createInsecure());
  await refill();
});

afterAll(() => {
  raw.close();
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

async function refill(): Promise<void> {
  await open(server, 'grpc').deleteMatching({ $id: { $nin: [] } });
  await open(server, 'grpc').upsert(POINTS);
}

async function countAll(): Promise<number> {
  return await open(server, 'http').count();
}

interface Reply {
  /** A status of HTTP, or of gRPC. */
  readonly code: number;
  /** What the refusal says. */
  readonly detail: string;
  readonly answer: Uint8Array;
}

async function post(operation: Operation, body: Uint8Array | string): Promise<Reply> {
  const response = await fetch(`${server.http}/v1/points/${operation}`, {
    method: 'POST',
    headers: { 'api-key': server.keys.readwrite, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : Uint8Array.from(body),
    signal: AbortSignal.timeout(HANG_MS),
  });
  const answer = new Uint8Array(await response.arrayBuffer());
  const { detail = '' } = JSON.parse(Buffer.from(answer).toString()) as { detail?: string };
  return { code: response.status, detail, answer };
}

async function call(operation: Operation, message: Uint8Array): Promise<Reply> {
  const name = operation.charAt(0).toUpperCase() + operation.slice(1);
  const same = (bytes: Buffer): Buffer => bytes;
  const key = new Metadata();
  key.set('authorization', server.keys.readwrite);
  return await new Promise((resolve) => {
    raw.makeUnaryRequest(
      `/vectord.v1.PointsService/${name}`,
      same,
      same,
      Buffer.from(message),
      key,
      { deadline: Date.now() + HANG_MS },
      (error, answer = Buffer.alloc(0)) =>
        resolve({ code: error?.code ?? status.OK, detail: error?.details ?? '', answer }),
    );
  });
}

const QUERY = { vector: [0, 0], similarity: 'Euclidean', limit: 100, include: [] } as const;

/** The body of an operation with this filter. */
function bodyOf(operation: Operation, filter: unknown): unknown {
  if (operation === 'search') return { queries: [{ ...QUERY, filter }] };
  return operation === 'scroll' ? { limit: 100, filter } : { filter };
}

/** The message of an operation with this filter. */
function messageOf(operation: Operation, filter: generated.Filter): Uint8Array {
  switch (operation) {
    case 'count':
      return generated.CountRequest.encode({ filter, collection: '' }).finish();
    case 'delete': {
      const request = { ids: [], all: false, confirm: undefined, filter, collection: '' };
      return generated.DeleteRequest.encode(request).finish();
    }
    case 'scroll': {
      const request = { limit: 100n, after: '', order: 0, include: undefined, filter };
      return generated.ScrollRequest.encode({ ...request, collection: '' }).finish();
    }
    case 'search': {
      const query = { vector: [0, 0], like: '', similarity: 1, limit: 100n, ef: 0n, exact: false };
      const rest = { maxDistance: undefined, include: undefined, filter };
      const request = { queries: [{ ...query, ...rest }], collection: '' };
      return generated.SearchRequest.encode(request).finish();
    }
  }
}

function wireOf(filter: Filter): generated.Filter {
  return wireFilter(readFilter('filter', filter).full);
}

/** What is wrong in a filter, and its place in the message about it. */
type Wrong<Form> = readonly [wrong: Form, place: string];

const WRONG_JSON: readonly Wrong<unknown>[] = [
  [[], ''],
  ['x', ''],
  [{ $foo: 1 }, '.$foo'],
  [{ $and: [] }, '.$and'],
  [{ $or: {} }, '.$or'],
  [{ $or: [{ a: 1 }, null] }, '.$or[1]'],
  [{ $not: null }, '.$not'],
  [{ a: null }, '.a'],
  [{ a: ['x'] }, '.a'],
  [{ a: {} }, '.a'],
  [{ a: { b: 1 } }, '.a.b'],
  [{ a: { $not: {} } }, '.a.$not'],
  [{ a: { $exists: true, $eq: null } }, '.a.$eq'],
  [{ a: { $ne: [1] } }, '.a.$ne'],
  [{ a: { $gt: true } }, '.a.$gt'],
  [{ a: { $lte: {} } }, '.a.$lte'],
  [{ a: { $in: 'x' } }, '.a.$in'],
  [{ a: { $nin: ['x', []] } }, '.a.$nin[1]'],
  [{ a: { $exists: 1 } }, '.a.$exists'],
  [{ a: '\ud800' }, '.a'],
  [{ $id: 'x' }, '.$id'],
  [{ $id: { $in: [id(1), 1] } }, '.$id.$in[1]'],
  [{ $id: { $exists: true } }, '.$id.$exists'],
  [{ $content_type: 'text' }, '.$content_type'],
  [{ $content_type: { $lt: 'Text' } }, '.$content_type.$lt'],
];

const WRONG_MESSAGES: readonly Wrong<generated.Filter>[] = [
  [{ all: { filters: [] } }, '.$and'],
  [{ any: { filters: [] } }, '.$or'],
  [{ condition: { field: 'a' } }, '.condition'],
  [{ condition: { field: 'a', eq: {} } }, '.condition'],
  [{ condition: { field: 'a', anyOf: { values: [{ text: 'x' }, {}] } } }, '.condition'],
  [{ condition: { field: 'a', lt: { number: Number.NaN } } }, '.condition'],
  [{ condition: { field: 'a', lt: { number: Infinity } } }, '.condition'],
  [{ condition: { field: '$and', exists: true } }, '.condition.field'],
  [{ condition: { field: 'a', gte: { boolean: true } } }, '.a.$gte'],
  [{ condition: { field: '$id', eq: { text: 'x' } } }, '.$id.$eq'],
  [{ condition: { field: '$id', noneOf: { values: [{ number: 1 }] } } }, '.$id.$nin[0]'],
  [{ condition: { field: '$id', exists: true } }, '.$id.$exists'],
  [{ condition: { field: '$content_type', ne: { text: 'text' } } }, '.$content_type.$ne'],
  [{ condition: { field: '$content_type', gt: { text: 'Text' } } }, '.$content_type.$gt'],
];

/** What a filter lies in: `$not`, or a list behind others. */
type Step = readonly [name: '$not' | '$and' | '$or', before: readonly Filter[]];

/** A delete, too, takes those. */
const full = good.filter((filter) => !hasEmpty(filter));

const steps = fc.array(
  fc.tuple(fc.constantFrom<Step[0]>('$not', '$and', '$or'), fc.array(full, { maxLength: 2 })),
  { maxLength: 4 },
);

/** What is wrong within these steps, the last one outermost. */
function within<Form>(
  around: readonly Step[],
  innermost: Wrong<Form>,
  wrap: (step: Step, inner: Form) => Form,
): Wrong<Form> {
  return around.reduce<Wrong<Form>>(
    ([inner, place], step) => [wrap(step, inner), `${placeIn(step)}${place}`],
    innermost,
  );
}

function placeIn([name, before]: Step): string {
  return name === '$not' ? '.$not' : `.${name}[${before.length}]`;
}

function wrapJson([name, before]: Step, inner: unknown): unknown {
  return { [name]: name === '$not' ? inner : [...before, inner] };
}

function wrapMessage([name, before]: Step, inner: generated.Filter): generated.Filter {
  if (name === '$not') return { negated: inner };
  const list = { filters: [...before.map(wireOf), inner] };
  return name === '$and' ? { all: list } : { any: list };
}

function expectPlace(operation: Operation, place: string, detail: string): void {
  const path = `${operation === 'search' ? 'queries[0].' : ''}filter${place}`;
  expect(detail.slice(0, path.length)).toBe(path);
  // Not the beginning of a longer path.
  expect(detail.slice(path.length)).toMatch(/^( is |: ).+/);
}

describe.each(OPERATIONS)('%s', (operation) => {
  test(
    'names the place of what is wrong in a body',
    async () => {
      const run = async (around: Step[], innermost: Wrong<unknown>): Promise<void> => {
        const [filter, place] = within(around, innermost, wrapJson);
        const { code, detail } = await post(operation, plainText(bodyOf(operation, filter)));
        expect([code, detail]).toEqual([400, expect.any(String)]);
        expectPlace(operation, place, detail);
      };
      await fc.assert(
        fc.asyncProperty(steps, async (around) => {
          await Promise.all(WRONG_JSON.map((innermost) => run(around, innermost)));
        }),
        fuzzing(10),
      );
      expect(await countAll()).toBe(POINTS.length);
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'names the place of what is wrong in a message',
    async () => {
      const run = async (around: Step[], innermost: Wrong<generated.Filter>): Promise<void> => {
        const [filter, place] = within(around, innermost, wrapMessage);
        const { code, detail } = await call(operation, messageOf(operation, filter));
        expect([status[code], detail]).toEqual(['INVALID_ARGUMENT', expect.any(String)]);
        expectPlace(operation, place, detail);
      };
      await fc.assert(
        fc.asyncProperty(steps, async (around) => {
          await Promise.all(WRONG_MESSAGES.map((innermost) => run(around, innermost)));
        }),
        fuzzing(10),
      );
      expect(await countAll()).toBe(POINTS.length);
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'answers bodies that nobody would write as a list does, or says what is wrong',
    async () => {
      const body = good.chain((filter) => bytesOf(bodyText(operation, filter)));
      const run = async (bytes: Buffer): Promise<void> => {
        const reply = await post(operation, bytes);
        if (reply.code === 200) expectAnswer(operation, bytes, reply);
        else expectBlame(reply);
        if (operation === 'delete') await refill();
      };
      await fc.assert(fc.asyncProperty(body, run), fuzzing(150));
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'answers messages that nobody would write, or says what is wrong',
    async () => {
      const message = mutated(
        good.map((filter) => Buffer.from(messageOf(operation, wireOf(filter)))),
      );
      const run = async (bytes: Buffer): Promise<void> => {
        const { code, detail, answer } = await call(operation, bytes);
        expect(BLAMED).toContain(code);
        expect(detail === '').toBe(code === status.OK);
        if (operation !== 'delete') return;
        const { deleted } = generated.DeleteResponse.decode(answer);
        expect(await countAll()).toBe(POINTS.length - Number(deleted));
        if (deleted > 0n) await refill();
      };
      await fc.assert(fc.asyncProperty(message, run), fuzzing(150));
      expect(await countAll()).toBe(POINTS.length);
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** What a client may be told of a message that is wrong. */
const BLAMED = [
  status.OK,
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.RESOURCE_EXHAUSTED,
];

/** The texts of a body, with odd spaces, escapes, members and mistakes. */
function bodyText(operation: Operation, filter: Filter): fc.Arbitrary<string> {
  const text = textOf(filter);
  const limit = fc.constantFrom('1', '5', '100');
  const include = fc.constant('[]');
  if (operation === 'scroll') return objectText({ limit, include, filter: text });
  if (operation !== 'search') return objectText({ filter: text });
  const query = objectText({
    vector: fc.constant('[0,0]'),
    similarity: fc.constant('"Euclidean"'),
    limit,
    include,
    filter: text,
  });
  return objectText({ queries: arrayText(query.map((one) => [one])) });
}

/** A body of any operation, as far as its answer depends on it. */
interface Body {
  readonly filter?: Filter | null;
  readonly limit?: number;
  readonly queries?: readonly Body[];
}

/** The body was taken: it is JSON, and the answer is what it asks for. */
function expectAnswer(operation: Operation, bytes: Uint8Array, reply: Reply): void {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const body = JSON.parse(text) as Body;
  const { queries: [query = {}] = [body] } = body;
  const passing = POINTS.filter((point) => passes(query.filter ?? {}, point));
  expect(operation === 'delete' && hasEmpty(query.filter ?? {})).toBe(false);
  const points = passing.slice(0, query.limit).map((point) => ({ id: point.id }));
  const expected = {
    count: { count: passing.length },
    delete: { deleted: passing.length, missing: [] },
    scroll: expect.objectContaining({ points }),
    search: { results: [points] },
  }[operation];
  expect(JSON.parse(Buffer.from(reply.answer).toString())).toEqual(expected);
}

/** The body was refused, for what is wrong with it. */
function expectBlame({ code, detail }: Reply): void {
  expect(code).toBe(400);
  expect(detail).toMatch(/^The body is not valid (JSON|UTF-8)|.+ is .+, expected .+/s);
}
