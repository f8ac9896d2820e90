import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { Servers } from '../support/nats-servers.mjs';
import { findNatsServer } from '../support/tools.mjs';

const STREAM = 'points';
const EACH = 20;
const POLL = { timeout: 40_000 };

const program = findNatsServer() ?? '';

describe.skipIf(program === '')('servers of NATS JetStream (needs nats-server)', () => {
  let servers: Servers;
  let connection: NatsConnection;
  let manager: JetStreamManager;

  async function start(count: 1 | 3): Promise<void> {
    servers = await Servers.start(program, makeTemporaryFolder(), { count });
    onTestFinished(() => servers.end());
    connection = await connectTo({
      servers: [...servers.addresses],
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      // It leaves a server that is stopped, and waits no longer for it to greet.
      timeout: 1_000,
      pingInterval: 500,
      maxPingOut: 1,
    });
    manager = await jetstreamManager(connection);
    const options = { name: STREAM, subjects: [STREAM], num_replicas: count };
    await manager.streams.add({ ...options, storage: 'file' });
  }

  async function connectTo(options: NodeConnectionOptions): Promise<NatsConnection> {
    const made = await connect(options);
    onTestFinished(() => made.close());
    return made;
  }

  /** Publishes so many numbers from here on, each once, however often it takes. */
  async function publish(from: number): Promise<void> {
    const client = jetstream(connection);
    for (let number = from; number < from + EACH; number += 1) {
      const options = { msgID: String(number), timeout: 1_000 };
      const send = () => client.publish(STREAM, String(number), options).catch(() => undefined);
      await expect.poll(send, POLL).toBeDefined();
    }
  }

  /** How many messages a server has stored itself. */
  async function countOn(index: number): Promise<number | undefined> {
    const response = await fetch(`${servers.monitors[index]}/jsz?streams=1`);
    const { account_details: accounts } = (await response.json()) as {
      account_details?: { stream_detail?: { state: { messages: number } }[] }[];
    };
    return accounts?.[0]?.stream_detail?.[0]?.state.messages;
  }

  /** All messages, read through one server. */
  async function readThrough(index: number): Promise<number[]> {
    const reading = await connectTo({ servers: servers.addresses.slice(index, index + 1) });
    const consumer = await jetstream(reading).consumers.get(STREAM);
    const { num_pending: count } = await consumer.info();
    const numbers: number[] = [];
    const messages = await consumer.fetch({ max_messages: count, expires: POLL.timeout });
    for await (const message of messages) numbers.push(Number(message.string()));
    return numbers;
  }

  /** Not the leader: the writes of a test need not wait for an election. */
  async function follower(): Promise<number> {
    const { cluster } = await manager.streams.info(STREAM);
    return (servers.names.indexOf(cluster?.leader ?? '') + 1) % servers.names.length;
  }

  const numbersTo = (end: number) => Array.from({ length: end }, (_, number) => number);

  test('three lose nothing with one of them, which comes back to its place', async () => {
    await start(3);
    await publish(0);
    const killed = await follower();
    await servers.kill(killed);
    await publish(EACH);
    servers.run(killed);
    await servers.ready();
    const all = [...servers.names.keys()];
    // First all of them: a consumer may lie on any, and tells what that one has.
    for (const index of all) await expect.poll(() => countOn(index), POLL).toBe(2 * EACH);
    for (const index of all) expect(await readThrough(index)).toEqual(numbersTo(2 * EACH));
  });

  test('three go on without one that is stopped, and again with it', async () => {
    await start(3);
    const stopped = await follower();
    await servers.suspend(stopped);
    await expect(servers.ready(0)).rejects.toThrow(RegExp(`${servers.names[stopped]}: (?!ready)`));
    await publish(0);
    servers.resume(stopped);
    await servers.ready();
    await expect.poll(() => countOn(stopped), POLL).toBe(EACH);
  });

  test('one that lost its folder gets all from the two others', async () => {
    await start(3);
    await publish(0);
    const robbed = await follower();
    await servers.kill(robbed);
    servers.wipe(robbed);
    servers.run(robbed);
    await servers.ready();
    await expect.poll(() => countOn(robbed), POLL).toBe(EACH);
  });

  test('one alone has all again after it was killed', async () => {
    await start(1);
    await publish(0);
    await servers.kill(0);
    servers.run(0);
    await servers.ready();
    await publish(EACH);
    expect(await readThrough(0)).toEqual(numbersTo(2 * EACH));
  });

  test('one that has ended is not waited for, and named with its log', async () => {
    await start(1);
    await servers.kill(0);
    await expect(servers.ready()).rejects.toThrow(/n0: ended[^]*Server is ready/);
  });
});
