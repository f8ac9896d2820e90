import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { StreamMessage } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { NodeState } from '../../src/cluster/voting/node-state.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { Writes } from '../../src/cluster/writes.js';
import { MOST_CHANGE_BYTES } from '../../src/config/settings.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { openShard, ownNatsServer, SHARD, STORED } from '../support/replicas.js';

const CHANGE = Uint8Array.of(1, 2, 3);
/** So long nothing happens where nothing is to happen. */
const QUIET_MS = 300;

describe.skipIf(HAS_NO_NATS)('writes of a loop (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** The writes of a node whose shard has three replicas, unless told otherwise. */
  async function open(replicaCount = 3) {
    const shard = await openShard(servers());
    const { cluster, nats, gateway } = shard;
    const state = new NodeState();
    const writes = new Writes(nats, gateway, subjects.log(cluster, SHARD), replicaCount, state);
    onTestFinished(() => writes.close());
    /** Begins a write; answers its message, and what is known of it. */
    const begin = async (stores = true) => {
      const sent = shard.replicas.messages.length;
      let settled: unknown;
      const write = writes.write(CHANGE, stores);
      write.then(
        (outcome) => (settled = outcome),
        (error: unknown) => (settled = error),
      );
      await expect.poll(() => shard.replicas.messages.length).toBeGreaterThan(sent);
      const message = shard.replicas.messages.at(-1) as StreamMessage;
      return { write, message, settled: () => settled };
    };
    return { ...shard, state, writes, begin };
  }

  async function messagesIn({ nats, stream }: Awaited<ReturnType<typeof open>>): Promise<number> {
    const manager = await nats.manager();
    const { state } = await manager.streams.info(stream);
    return state.messages;
  }

  test('a write is acknowledged once two of three replicas confirm it, not by the stream', async () => {
    const shard = await open();
    const { write, message, settled } = await shard.begin();
    await expect.poll(() => messagesIn(shard)).toBe(1);
    shard.replicas.confirm(message, 0);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    expect(shard.state.acknowledged.last.sequence).toBe(0);
    shard.replicas.confirm(message, 1);
    expect(await write).toMatchObject(STORED);
    expect(shard.state.acknowledged.last.sequence).toBe(STORED.sequence);
  });

  test('a replica that confirms twice counts once', async () => {
    const { begin, replicas } = await open();
    const { write, message, settled } = await begin();
    for (const _ of [1, 2, 3]) replicas.confirm(message, 2);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.confirm(message, 0);
    expect(await write).toMatchObject(STORED);
  });

  test('what a log has confirmed that is lost now counts no more', async () => {
    const { begin, replicas } = await open();
    const { write, message, settled } = await begin();
    replicas.confirm(message, 1);
    // Another replica knows that, and says so whenever it is asked.
    replicas.onQuestion = ({ gateway, number }) => {
      const answer = { number, position: undefined };
      replicas.tell(gateway, 0, { answer, incarnations: [0, 1] });
    };
    replicas.confirm(message, 0, {}, { incarnations: [0, 1] });
    await sleep(QUIET_MS);
    replicas.confirm(message, 0, {}, { incarnations: [0, 1] });
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    // What it had sent before may come late.
    replicas.confirm(message, 1);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.confirm(message, 1, {}, { incarnations: [0, 1] });
    expect(await write).toMatchObject(STORED);
  });

  test.each([
    ['another history', { chain: 2 }],
    ['another position', { sequence: 2 }],
    ['another outcome', { stored: 0, kept: 1 }],
  ])('replicas with %s do not acknowledge together', async (_, other) => {
    const { begin, replicas } = await open();
    const { write, message, settled } = await begin();
    replicas.confirm(message, 0);
    replicas.confirm(message, 1, other);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.confirm(message, 2, other);
    expect(await write).toMatchObject({ ...STORED, ...other });
  });

  test('three of five replicas are needed', async () => {
    const { begin, replicas } = await open(5);
    const { write, message, settled } = await begin();
    replicas.confirm(message, 4);
    replicas.confirm(message, 1);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.confirm(message, 0);
    expect(await write).toMatchObject(STORED);
  });

  test('what came too late into the stream is not written, and what replicas refuse is told', async () => {
    const { begin, replicas, state } = await open();
    const late = await begin();
    for (const replica of [0, 1]) replicas.confirm(late.message, replica, {}, { isVoid: true });
    await expect(late.write).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('came too late into the stream'),
    });
    const refused = { code: 'OTHER_COUNT', message: 'there are 2 points, expected 5' };
    const other = await begin(false);
    for (const replica of [0, 1]) replicas.confirm(other.message, replica, { stored: 0, refused });
    await expect(other.write).rejects.toMatchObject({ code: 'CONFLICT', message: refused.message });
    expect(state.acknowledged.last.sequence).toBe(0);
  });

  test('confirmations that do not come are asked for', async () => {
    const { begin, replicas } = await open();
    replicas.confirmWhatIsAsked(1, 2);
    const { write, message } = await begin();
    expect(await write).toMatchObject(STORED);
    const asked = replicas.questions.find(({ unconfirmed }) => unconfirmed.length > 0);
    expect(asked).toMatchObject({ unconfirmed: [message.request] });
    expect(asked?.reached).toBeUndefined();
  });

  test('a change that is larger than replicas take is refused before it is sent', async () => {
    const { writes, replicas } = await open();
    const write = writes.write(new Uint8Array(MOST_CHANGE_BYTES + 1), true);
    await expect(write).rejects.toMatchObject({ code: 'TOO_LARGE' });
    expect(replicas.messages).toEqual([]);
  });

  test('a message that is sent again is in the stream once, and is not known if a copy is void', async () => {
    const shard = await open();
    const { writes, replicas } = shard;
    // The server takes both meanwhile, and does not answer for so long that they are sent again.
    await servers().suspend(0);
    const write = writes.write(CHANGE, true);
    const late = writes.write(CHANGE, true);
    // Soon after, the client would leave the server, which may then never read the first copy.
    await sleep(2_400);
    servers().resume(0);
    const copiesOf = (request: number) =>
      replicas.messages.filter((message) => message.request === request);
    for (const request of [1, 2]) {
      await expect
        .poll(() => copiesOf(request).length, { timeout: 5_000 })
        .toBeGreaterThanOrEqual(2);
    }
    const [first, second] = copiesOf(1);
    expect(second).toEqual(first);
    replicas.onQuestion = ({ gateway, unconfirmed }) => {
      for (const request of unconfirmed) {
        const isVoid = request === 2;
        for (const replica of [0, 1])
          replicas.confirm({ gateway, request }, replica, {}, { isVoid });
      }
    };
    const [stored, unknown] = await Promise.allSettled([write, late]);
    expect(stored).toMatchObject({ value: STORED });
    expect(unknown).toMatchObject({ reason: { code: 'OUTCOME_UNKNOWN' } });
    // Others hear what the stream is still to store.
    await expect.poll(() => messagesIn(shard)).toBe(2);
  });

  test('a write that the stream may have got is not known without an outcome', async () => {
    const { writes, begin } = await open();
    const { write } = await begin();
    writes.close();
    await expect(write).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });

  test('a write for which there is no stream, or no server, is not written', async () => {
    const unwritten = {
      code: 'UNAVAILABLE',
      message: expect.stringContaining('nothing was written'),
    };
    const connections: { isConnected: boolean }[] = [];
    // If the message is just under way as the loop ends, nobody knows what becomes of it.
    const withoutStream = async () => {
      const { writes, nats, replicas, stream } = await open();
      connections.push(nats);
      const manager = await nats.manager();
      await manager.streams.delete(stream);
      await replicas.leave();
      const write = writes.write(CHANGE, true);
      await sleep(QUIET_MS);
      writes.close();
      return await write.catch((error: unknown) => error);
    };
    await expect.poll(withoutStream, { timeout: 10_000 }).toMatchObject(unwritten);

    const { writes, nats } = await open();
    await servers().kill(0);
    await expect.poll(() => nats.isConnected).toBe(false);
    const withoutServer = writes.write(CHANGE, true);
    await sleep(QUIET_MS);
    writes.close();
    await expect(withoutServer).rejects.toMatchObject(unwritten);
    servers().run(0);
    await servers().ready();
    connections.push(nats);
    await expect.poll(() => connections.every(({ isConnected }) => isConnected)).toBe(true);
  });

  test('a full stream refuses writes at once, however long it has been full', async () => {
    const shard = await open();
    const { writes, nats, stream } = shard;
    const manager = await nats.manager();
    await manager.streams.update(stream, { max_bytes: 1 });
    const full = {
      code: 'STORAGE_FULL',
      message: expect.stringContaining('stream of the cluster'),
    };
    const endsAtMs = performance.now() + 3_500;
    while (performance.now() < endsAtMs) {
      await expect(writes.write(CHANGE, true)).rejects.toMatchObject(full);
      await sleep(50);
    }
    const begunAtMs = performance.now();
    const many = [1, 2, 3, 4].map(async () => await writes.write(CHANGE, false));
    const refused = await Promise.allSettled(many);
    expect(refused).toMatchObject(many.map(() => ({ reason: full })));
    expect(performance.now() - begunAtMs).toBeLessThan(2_000);
    await manager.streams.update(stream, { max_bytes: -1 });
    expect((await shard.begin()).settled()).toBeUndefined();
  });

  test('who has heard nothing yet asks which disks are full before the first inserts, not before deletes', async () => {
    const { gateway, replicas, writes, begin } = await open();
    replicas.onQuestion = ({ number }) => {
      for (const replica of [0, 1]) {
        const answer = { number, position: undefined };
        replicas.tell(gateway.id, replica, { isFull: true, answer });
      }
    };
    const deleting = await begin(false);
    expect(replicas.questions).toEqual([]);
    const inserts = [1, 2, 3].map(async () => await writes.write(CHANGE, true));
    const refused = await Promise.allSettled(inserts);
    expect(refused).toMatchObject(inserts.map(() => ({ reason: { code: 'STORAGE_FULL' } })));
    expect(replicas.messages).toHaveLength(1);
    for (const replica of [0, 1]) replicas.confirm(deleting.message, replica);
    await deleting.write;
  });

  test('while most disks are full inserts are refused and deletes are not, until there is space', async () => {
    const { gateway, replicas, writes, begin } = await open();
    const full = {
      code: 'STORAGE_FULL',
      message: expect.stringContaining('disks of most replicas'),
    };
    let isFull = true;
    replicas.onMessage = (message) => {
      for (const replica of [0, 1]) replicas.confirm(message, replica, {}, { isFull });
    };
    replicas.tell(gateway.id, 0, { isFull });
    await expect.poll(() => gateway.fullReplicas).toBe(1);
    // The two others have room.
    const roomy = await begin();
    await roomy.write;
    await expect.poll(() => gateway.fullReplicas).toBe(2);
    await expect(writes.write(CHANGE, true)).rejects.toMatchObject(full);
    const deleting = await begin(false);
    await deleting.write;
    await expect(writes.write(CHANGE, true)).rejects.toMatchObject(full);
    // Nobody writes or reads meanwhile: the replicas are asked all the same.
    isFull = false;
    replicas.onQuestion = ({ number }) => {
      for (const replica of [0, 1]) {
        replicas.tell(gateway.id, replica, { answer: { number, position: undefined } });
      }
    };
    await expect.poll(() => gateway.fullReplicas).toBe(0);
    const roomyAgain = await begin();
    await roomyAgain.write;
  });
});
