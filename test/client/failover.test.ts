import { once } from 'node:events';
import { connect as connectTo, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, InvalidArgumentError, type Client } from '../../src/client/node.js';
import { startServer, type TestServer } from '../support/server.js';
import { Door } from './door.js';
import { addressOf, failureOf, id, PROTOCOLS } from './open.js';
import { Restartable } from './restart.js';

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
    await nodes[1].kill();
    expect((await failureOf(client.count({ retries: { attempts: 2 } }))).code).toBe(
      'CONNECTION_LOST',
    );
  });

  test('deletes go on, too, from where nobody listens, and from a name without an address', async () => {
    await nodes[0].kill();
    const [nowhere, there] = nodes.map((node) => addressOf(node, protocol)) as [string, string];
    const { protocol: scheme } = new URL(there);
    for (const first of [nowhere, `${scheme}//vectord.invalid:3000`]) {
      for (const remove of [
        async (of: Client) => await of.delete([id(1)]),
        async (of: Client) => await of.deleteMatching({ $id: id(1) }),
        async (of: Client) => await of.deleteAll(1),
      ]) {
        await open(nodes[1]).upsert([POINT]);
        const other = connect([first, there], { key: 'test-readwrite-key' });
        onTestFinished(() => other.close());
        expect(await remove(other)).toMatchObject({ deleted: 1 });
      }
    }
  });

  test('a delete whose answer was lost is sent to no other', async () => {
    await client.count();
    process.kill(nodes[0].pid, 'SIGSTOP');
    const deleting = failureOf(client.delete([id(1)]));
    await sleep(200);
    await nodes[0].kill();
    expect(await deleting).toMatchObject({ code: 'CONNECTION_LOST', isUnsent: false });
    expect(await client.count()).toBe(1);
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

test.each(PROTOCOLS)(
  'no call is lost while two nodes restart in turn, over %s',
  async (protocol) => {
    const nodes = [await Restartable.start(), await Restartable.start()] as const;
    const addresses = nodes.map(({ server }) => addressOf(server, protocol));
    const client = connect(addresses, { key: 'test-readwrite-key' });
    onTestFinished(() => client.close());
    const over = new AbortController();
    let writes = 0;
    const keepCalling = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await Promise.all([client.upsert([POINT]), client.search(QUERY), client.count()]);
        writes += 1;
      }
    };
    const calls = Promise.all([keepCalling(), keepCalling()]);
    for (const node of nodes) {
      const before = writes;
      await node.restart();
      await expect.poll(() => writes, { timeout: 20_000 }).toBeGreaterThan(before + 2);
    }
    over.abort();
    await calls;
  },
);

test('over grpc, a client without a connection goes on from a node that is frozen', async () => {
  const [frozen, other] = [await startServer(), await startServer()] as const;
  process.kill(frozen.pid, 'SIGSTOP');
  onTestFinished(() => void process.kill(frozen.pid, 'SIGCONT'));
  const client = connect([addressOf(frozen, 'grpc'), addressOf(other, 'grpc')], {
    key: 'test-readwrite-key',
    deadlineMs: 15_000,
  });
  onTestFinished(() => client.close());
  const calls = [client.upsert([POINT]), client.count(), client.delete([id(2)])] as const;
  expect(await Promise.all(calls)).toMatchObject([
    { stored: 1 },
    expect.any(Number),
    { deleted: 0 },
  ]);
});

test('over grpc, a scroll goes on from its place where calls went to the other node and back', async () => {
  const server = await startServer();
  const doors = [await Door.open(server.grpc), await Door.open(server.grpc)] as const;
  const addresses = doors.map(({ address }) => address);
  const client = connect(addresses, { key: 'test-readwrite-key' });
  onTestFinished(() => {
    client.close();
    doors.forEach((door) => door.close());
  });
  const ids = Array.from({ length: 4_000 }, (_, at) => id(at + 1));
  // More than can be on its way: some 100 of them are a message.
  const content = 'x'.repeat(10_000);
  await client.upsert(ids.map((one) => ({ ...POINT, id: one, content })));
  const leave = async (door: Door): Promise<void> => {
    door.refusals = 1;
    await client.info();
    expect(door.refusals).toBe(0);
  };
  const seen: string[] = [];
  const scroll = client.scroll()[Symbol.asyncIterator]();
  const readUntil = async (count: number): Promise<void> => {
    while (seen.length < count) {
      const next = await scroll.next();
      if (next.done === true) return;
      seen.push(next.value.id);
    }
  };
  // Within the first message, and within the third.
  await readUntil(50);
  await leave(doors[0]);
  await readUntil(250);
  expect(doors[1].scrolls).toBe(1);
  // Nobody reads on at the node that was left.
  await expect.poll(() => doors[0].scrolls).toBe(0);
  await leave(doors[1]);
  await readUntil(Infinity);
  expect(seen.toSorted()).toEqual(ids);
});

test.each(PROTOCOLS)('calls outlast 4 seconds without a service, over %s', async (protocol) => {
  const server = await startServer();
  const service = new URL(addressOf(server, protocol));
  const line = createServer((near) => {
    const far = connectTo(Number(service.port), service.hostname);
    for (const end of [near, far]) end.on('error', () => [near, far].forEach((it) => it.destroy()));
    near.pipe(far).pipe(near);
  });
  await once(line.listen(0, '127.0.0.1'), 'listening');
  const { port } = line.address() as AddressInfo;
  line.close();
  const client = connect(`${service.protocol}//127.0.0.1:${port}`, { key: 'test-readwrite-key' });
  onTestFinished(() => client.close());
  const calls = [client.upsert([POINT]), client.upsert([{ ...POINT, id: id(2) }])];
  await sleep(4_000);
  onTestFinished(() => void line.close());
  line.listen(port, '127.0.0.1');
  expect(await Promise.all(calls)).toMatchObject([{ stored: 1 }, { stored: 1 }]);
});

describe('a call that takes long, over HTTP, of a service that', () => {
  /** A client by a line that gives the answer to a count after a while, and does the rest as told. */
  async function openSlow(holdsMs: number, server: TestServer, isCut: boolean): Promise<Client> {
    const { port, hostname } = new URL(server.http);
    const lines = new Set<Socket>();
    const line = createServer((near) => {
      const far = connectTo(Number(port), hostname);
      for (const end of [near, far]) {
        lines.add(end.on('error', () => [near, far].forEach((it) => it.destroy())));
      }
      near.once('data', (bytes) => {
        far.write(bytes);
        const isCount = bytes.includes('/count');
        if (isCut && !isCount) near.resetAndDestroy();
        else setTimeout(() => near.pipe(far).pipe(near), isCount ? holdsMs : 0);
      });
    });
    await once(line.listen(0, '127.0.0.1'), 'listening');
    const { port: own } = line.address() as AddressInfo;
    const client = connect([`http://127.0.0.1:${own}`, server.http], { key: 'test-readwrite-key' });
    onTestFinished(() => {
      client.close();
      line.close();
      for (const end of lines) end.destroy();
    });
    return client;
  }

  const ONCE = { retries: { attempts: 1 } } as const;

  test('lets new clients wait is not taken from it', async () => {
    const server = await startServer();
    const client = await openSlow(8_000, server, false);
    const counting = client.count(ONCE);
    // It has its place before they come.
    await sleep(1_000);
    const { port, hostname } = new URL(server.http);
    // Each holds one of the few places of clients without a key for as long as it may.
    const others = Array.from({ length: 60 }, () => {
      const other = connectTo(Number(port), hostname).on('error', () => {});
      other.write('GET /health HTTP/1.1\r\nHost: ');
      return other;
    });
    onTestFinished(() => others.forEach((other) => other.destroy()));
    expect(await counting).toBe(0);
  });

  test('closes new connections is not taken from it', async () => {
    const client = await openSlow(5_000, await startServer(), true);
    expect(await client.count(ONCE)).toBe(0);
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
    [5, 'address is 5, expected an address such as'],
  ] as const) {
    const call = (): Client => connect(given as unknown as string);
    expect(call).toThrow(InvalidArgumentError);
    expect(call).toThrow(message);
  }
});
