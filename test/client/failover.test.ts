import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, InvalidArgumentError, type Client } from '../../src/client/node.js';
import { startServer, type TestServer } from '../support/server.js';
import { addressOf, failureOf, id, PROTOCOLS } from './open.js';

const POINT = { id: id(1), vector: [1, 2, 3, 4] };
const QUERY = { vector: POINT.vector, similarity: 'Cosine', limit: 1 } as const;

describe.each(PROTOCOLS)('over %s, of two nodes', (protocol) => {
  let nodes: readonly [TestServer, TestServer];
  let client: Client;

  function open(...servers: readonly TestServer[]): Client {
    const addresses = servers.map((server) => addressOf(server, protocol));
    const opened = connect(addresses, { key: 'test-readwrite-key' });
    onTestFinished(() => opened.close());
    return opened;
  }

  beforeEach(async () => {
    nodes = [await startServer(), await startServer()];
    for (const node of nodes) {
      await open(node).upsert([POINT]);
    }
    client = open(...nodes);
    // To tell them from each other.
    await client.update([{ id: id(1), content: 'the first' }]);
  });

  async function content(): Promise<string | undefined> {
    return (await client.get([id(1)])).points[0]?.content;
  }

  test('calls go to the second where the first refuses, and to the first again after that', async () => {
    expect(await content()).toBe('the first');
    await nodes[0].kill();
    expect(await content()).toBe('');
    expect(await client.search(QUERY)).toHaveLength(1);
    expect(await client.upsert([{ ...POINT, content: 'the second' }])).toMatchObject({
      replaced: 1,
    });
    // Whether it was done is not known of a delete without an answer: it is not repeated.
    await nodes[1].kill();
    expect((await failureOf(client.delete([id(1)]))).code).toBe('CONNECTION_LOST');
    expect((await failureOf(client.count({ retries: { attempts: 2 } }))).code).toBe(
      'CONNECTION_LOST',
    );
  });

  test('a call of a node that is frozen is answered by the other', async () => {
    process.kill(nodes[0].pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(nodes[0].pid, 'SIGCONT'));
    expect(await content()).toBe('');
    // From now on at once.
    const begunAtMs = performance.now();
    expect(await client.count()).toBe(1);
    expect(performance.now() - begunAtMs).toBeLessThan(5_000);
  });

  test('a call that takes long is not taken from a node that lives', async () => {
    const points = Array.from({ length: 4_000 }, () => ({ vector: POINT.vector }));
    await client.bulk(points);
    const queries = Array.from({ length: 2_000 }, () => ({ ...QUERY, exact: true, limit: 200 }));
    expect(await client.searchAll(queries)).toHaveLength(2_000);
    expect(await content()).toBe('the first');
  });
});

test('what is no list of nodes of one service is refused', () => {
  for (const [given, message] of [
    [[], 'address is empty, expected an address such as'],
    [['http://a:1', 5], 'address is 5, expected an address such as'],
    [
      ['http://a:1', 'grpc://a:1'],
      'address[1] is "grpc://a:1", expected the protocol of the first',
    ],
    [['http://a:1', 'https://a:1'], 'address[1] is "https://a:1", expected the protocol of'],
    [5, 'address is 5, expected an array'],
  ] as const) {
    const call = (): Client => connect(given as unknown as string);
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(message);
  }
});
