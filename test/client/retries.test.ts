import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Client, Fetch, VectordError } from '../../src/client/node.js';
import { untilInflight } from '../support/inflight.js';
import { startServer, type TestServer } from '../support/server.js';
import { addressOf, expectFailure, failureOf, id, open, PROTOCOLS } from './open.js';
import { Restartable } from './restart.js';

const ENDLESS = { attempts: Infinity, maxMs: 100 };
const POINT = { id: id(1), vector: [1, 2, 3, 4], content: 'x' };

describe.each(PROTOCOLS)('over %s', (protocol) => {
  describe('of a service that is killed and started again', () => {
    let service: Restartable;
    let client: Client;

    beforeEach(async () => {
      service = await Restartable.start();
      client = open(service.server, protocol, { retries: ENDLESS });
      await client.upsert([POINT]);
    });

    test('reads, upserts and updates wait for it', async () => {
      await service.kill();
      const query = { vector: POINT.vector, similarity: 'Cosine', limit: 1 } as const;
      const calls = [
        client.get([id(1)]),
        client.search(query),
        client.searchAll([query]),
        client.scrollPage({ limit: 1 }),
        client.count(),
        client.info(),
        client.upsert([POINT]),
        client.update([{ id: id(1), content: 'y' }]),
      ];
      // Each has failed before there is a service again.
      await failureOf(client.count({ retries: { attempts: 2 } }));
      await service.startAgain();
      const [, , , , , , upserted] = await Promise.all(calls);
      expect(upserted).toEqual({ ids: [id(1)], stored: 0, replaced: 1, kept: 0 });
    });

    test('deletes wait for it where nothing was sent', async () => {
      await service.kill();
      const deleting = client.delete([id(1)]);
      const failure = failureOf(client.deleteAll(1, { retries: 0 }));
      expect(await failure).toMatchObject({ code: 'CONNECTION_LOST', isUnsent: true });
      await service.startAgain();
      expect(await deleting).toEqual({ deleted: 1, missing: [] });
    });

    test('deletes without an answer do not: whether they were done is not known', async () => {
      process.kill(service.server.pid, 'SIGSTOP');
      const calls = [client.delete([id(1)]), client.deleteAll(1)];
      const failures = Promise.all(calls.map(failureOf));
      await sleep(200);
      await service.kill();
      for (const { code, message } of await failures) {
        expect(message).toMatch(/no answer/);
        expect(code).toBe('CONNECTION_LOST');
      }
      await service.startAgain();
      expect(await client.count()).toBe(1);
    });

    test('a call that was given no more than some tries fails', async () => {
      await service.kill();
      const failure = await failureOf(client.count({ retries: { attempts: 3, baseMs: 1 } }));
      expect(failure.code).toBe('CONNECTION_LOST');
      expect(failure.retryable).toBe(true);
      expect(failure.requestId).toBeUndefined();
    });

    test('a call fails at its deadline, or when no try is left before it', async () => {
      await service.kill();
      const failure = await failureOf(client.count({ deadlineMs: 300 }));
      expect(['CONNECTION_LOST', 'TIMEOUT']).toContain(failure.code);
    });
  });

  describe('of a service with too much to do', () => {
    const ids = Array.from({ length: 2_000 }, (_, at) => id(at + 1));
    let server: TestServer;
    let release: () => void;

    beforeEach(async () => {
      server = await startServer({ env: { MAX_INFLIGHT_BYTES: '100000' } });
      await open(server, protocol).upsert([POINT]);
      const headers = {
        'api-key': server.keys.readwrite,
        'content-type': 'application/json',
        'content-length': '90000',
      };
      const large = request(`${server.http}/v1/points/upsert`, { method: 'POST', headers });
      large.on('error', () => {});
      large.write(' '.repeat(80_000));
      await untilInflight(server, 80_000);
      release = () => large.destroy();
    });

    test('the failure says when to try again', async () => {
      const call = open(server, protocol).get(ids, { retries: { attempts: 1 } });
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: 'OVERLOADED', retryable: true, retryAfterMs: 1_000 });
      expect(failure.requestId).toMatch(/^[0-9a-f-]{36}$/);
      release();
    });

    test('deletes are repeated, since they have not begun', async () => {
      const done = open(server, protocol, { retries: ENDLESS }).delete(ids);
      await vi.waitFor(async () => expect(await refusals(server)).toBeGreaterThan(0), 10_000);
      release();
      expect((await done).deleted).toBe(1);
    });
  });

  describe('of a service that does not answer', () => {
    let client: Client;

    beforeEach(async () => {
      const server = await startServer();
      client = open(server, protocol);
      await client.upsert([POINT]);
      process.kill(server.pid, 'SIGSTOP');
      return () => void process.kill(server.pid, 'SIGCONT');
    });

    test('calls end at their deadlines, a scroll with its first page', async () => {
      const options = { deadlineMs: 200 };
      await expectFailure(client.count(options), 'TIMEOUT', /within 200 ms/);
      await expectFailure(client.delete([id(1)], options), 'TIMEOUT', /within 200 ms/);
      const [first] = [client.scroll(options)[Symbol.asyncIterator]().next()];
      await expectFailure(first, 'TIMEOUT', /within 200 ms/);
    });

    test('calls end when they are given up', async () => {
      const giveUp = new AbortController();
      const { signal } = giveUp;
      const calls = [
        client.count({ signal }),
        client.upsert([POINT], { signal }),
        client.scroll({ signal })[Symbol.asyncIterator]().next(),
        client.bulk([POINT], { signal }),
      ];
      const failures = Promise.all(calls.map(failureOf));
      giveUp.abort('enough');
      for (const { code, cause } of await failures) {
        expect([code, cause]).toEqual(['CANCELLED', 'enough']);
      }
      await expectFailure(client.count({ signal }), 'CANCELLED', /given up/);
    });

    test('calls end when the client is closed, and so do later ones', async () => {
      const calls = [client.count(), client.bulk([POINT]), client.scrollPage({ limit: 1 })];
      const failures = Promise.all(calls.map(failureOf));
      client.close();
      for (const { code } of await failures) expect(code).toBe('CANCELLED');
      await expectFailure(client.count(), 'CANCELLED', /closed/);
    });
  });

  test('very many calls at one time are no leak', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): number => warnings.push(warning);
    process.on('warning', warn);
    const client = open(await startServer(), protocol);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 100 }, () => client.count({ signal })));
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });
});

test('the tries of a call are as many as it is given, and one for a refusal', async () => {
  const { http, keys, kill } = await startServer();
  let tries = 0;
  const counting: Fetch = async (url, init) => {
    tries += 1;
    return await fetch(url, init);
  };
  const server = { http, keys } as TestServer;
  const options = { fetch: counting, retries: { attempts: 4, baseMs: 1 } };
  const client = open(server, 'http', options);
  await failureOf(client.get(['x']));
  await failureOf(client.search({ like: id(1), similarity: 'Cosine', limit: 1 }));
  expect(tries).toBe(2);
  await kill();
  await failureOf(client.count());
  expect(tries).toBe(6);
  await failureOf(client.delete([id(1)]));
  expect(tries).toBe(10);
});

test.each([
  [{ attempts: 2 }, 'done', 'ours'],
  [0, 'CONNECTION_LOST', 'theirs'],
] as const)(
  "a repeated write may undo another's, which retries: 0 excludes: %j",
  async (retries, outcome, left) => {
    const server = await startServer();
    const theirs = open(server, 'http');
    await theirs.upsert([POINT]);
    let isLost = false;
    const losing: Fetch = async (url, init) => {
      const answer = await fetch(url, init);
      if (!isLost) return answer;
      isLost = false;
      await theirs.update([{ id: id(1), content: 'theirs' }]);
      throw new TypeError('fetch failed');
    };
    const ours = open(server, 'http', { fetch: losing, retries });
    for (const write of [
      async () => ours.upsert([{ ...POINT, content: 'ours' }]),
      async () => ours.update([{ id: id(1), content: 'ours' }]),
    ]) {
      isLost = true;
      const end = write().then(
        () => 'done',
        ({ code }: VectordError) => code,
      );
      expect(await end).toBe(outcome);
      expect((await theirs.get([id(1)])).points[0]?.content).toBe(left);
    }
  },
);

/** How many requests the service has refused for want of room. */
async function refusals(server: TestServer): Promise<number> {
  const headers = { 'api-key': server.keys.readonly };
  const metrics = await (await fetch(`${addressOf(server, 'http')}/metrics`, { headers })).text();
  const found = metrics.matchAll(/^vectord_(?:http|grpc)_requests_total\{(.*)\} (\d+)$/gm);
  const refused = [...found].filter(([, labels]) => /503|RESOURCE_EXHAUSTED/.test(labels ?? ''));
  return refused.reduce((sum, [, , count]) => sum + Number(count), 0);
}
