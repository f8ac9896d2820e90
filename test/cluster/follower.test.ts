import type { JetStreamManager } from '@nats-io/jetstream';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NodeFile } from '../../src/cluster/map/node-file.js';
import { inFrame } from '../../src/cluster/nats/message.js';
import { Nats } from '../../src/cluster/nats/nats.js';
import { Follower } from '../../src/cluster/replica/follower.js';
import { NodeState, ReplicaState } from '../../src/cluster/voting/node-state.js';
import { decodeOutcome, type ConfirmedOutcome } from '../../src/cluster/voting/outcome.js';
import { Questions } from '../../src/cluster/voting/questions.js';
import { Reads } from '../../src/cluster/reads/reads.js';
import { OtherReplicas } from '../../src/cluster/reads/other-replicas.js';
import { ReplicatedPoints } from '../../src/cluster/replicated-points.js';
import { Reporter } from '../../src/cluster/replica/reporter.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { Writes } from '../../src/cluster/writes.js';
import { POINT_ID_BYTES } from '../../src/core/point-id.js';
import type { Engine } from '../../src/engine/native.js';
import { StreamMessage } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { createLogger } from '../../src/observe/logger.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { Link } from '../support/link.js';
import {
  changeOf,
  NONE_LOST,
  openEngine,
  openShard,
  ownNatsServer,
  SHARD,
} from '../support/replicas.js';
import { canMount, SmallDisk } from '../support/small-disk.js';

const PATIENCE = { timeout: 10_000 };
/** A replica that lacks a message reads its stream again several times meanwhile. */
const SEVERAL_TRIES_MS = 2_000;
const DISK_BYTES = 16 << 20;
const NEEDS = '(needs Linux that lets its users mount a disk)';

describe.skipIf(HAS_NO_NATS)('the replica of a node (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** A shard with one replica, which follows the stream once it is told to. */
  async function open(path?: string, settings?: Record<string, string>, link?: Link) {
    const shard = await openShard(servers());
    const { cluster, stream, gateway } = shard;
    const nats = link === undefined ? shard.nats : await connectBy(link);
    const engine = await openEngine(path, settings);
    const state = new NodeState();
    let log = '';
    const logger = createLogger('info', { write: (line) => void (log += line) });
    const follow = (
      created: string | undefined = shard.created,
      most = MOST,
      claim = (): void => undefined,
    ): Follower => {
      const place = { cluster, shard: SHARD, replica: 0 };
      const reporter = new Reporter(nats, engine, place, state, NONE_LOST);
      const parts = [reporter, state, logger, claim, most] as const;
      const follower = new Follower(nats, engine, stream, created, ...parts);
      onTestFinished(async () => {
        follower.stop();
        await engine.close();
        await follower.ended();
        reporter.close();
      });
      return follower;
    };
    const outcomes: ConfirmedOutcome[] = [];
    let request = 0;
    const publishBytes = async (bytes: Uint8Array): Promise<number> =>
      (await shard.nats.streams.publish(subjects.log(cluster, SHARD), bytes)).seq;
    /** Puts a message into the stream as a gateway might that began some time ago. */
    const publish = async (
      content: Partial<StreamMessage>,
      ageMs = 0,
      encode: (message: StreamMessage) => Uint8Array = inFrame,
    ): Promise<number> => {
      gateway.onConfirmation = (_, { outcome }) => void outcomes.push(decodeOutcome(outcome));
      const sentAtMs = BigInt(Date.now() - ageMs);
      request += 1;
      const message = { gateway: gateway.id, request, sentAtMs, ...content };
      return await publishBytes(encode({ ...NO_CONTENT, ...message }));
    };
    /** What the replica has told so far; it is asked to tell again. */
    const strays = (): number => {
      gateway.ask({ number: 0, unconfirmed: [], reached: undefined });
      return gateway.straysOf(0);
    };
    return {
      ...shard,
      engine,
      state,
      log: () => log,
      follow,
      outcomes,
      publish,
      publishBytes,
      strays,
    };
  }

  /** A replica that can apply nothing until its disk has room again. */
  async function openOnFullDisk() {
    const folder = makeTemporaryFolder();
    const disk = await SmallDisk.mount(folder, DISK_BYTES);
    onTestFinished(() => disk.release());
    const path = disk.path('data');
    mkdirSync(path);
    const shard = await open(path, { SEGMENT_BYTES: String(1 << 20) });
    const { engine, state, follow, publish } = shard;
    follow();
    await publish({ change: changeOf(engine) });
    await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Following);
    const filler = disk.path('filler');
    expect(() => writeFileSync(filler, Buffer.alloc(DISK_BYTES))).toThrow('ENOSPC');
    let last = 0;
    for (const _ of [1, 2, 3])
      last = await publish({ change: changeOf(engine, 1, 'x'.repeat(900_000)) });
    /** Puts void messages into the stream, fewer at a time than a replica may lack. */
    const publishVoid = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 100) {
        const part = Array.from({ length: 100 }, async () => await publish({}, 31_000));
        last = Math.max(last, ...(await Promise.all(part)));
      }
    };
    const goOn = async (): Promise<void> => {
      rmSync(filler);
      await expect.poll(() => engine.position.sequence, PATIENCE).toBe(last);
      await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Following);
    };
    return { ...shard, publishVoid, goOn };
  }

  /** The points of a node that is a cluster alone. */
  async function openPoints() {
    const shard = await open();
    const { nats, gateway, cluster, engine, state } = shard;
    shard.follow();
    const writes = new Writes(nats, gateway, subjects.log(cluster, SHARD), 1, state);
    onTestFinished(() => writes.close());
    const reads = new Reads(engine, new Questions(gateway, 0, 0), state, 'strong');
    const points = new ReplicatedPoints(
      engine,
      { number: 0, reads },
      new OtherReplicas(new Map()),
      writes,
      nats,
      state,
    );
    return { ...shard, writes, points };
  }

  test('a change that is larger than a message is applied whole, and its parts are no changes', async () => {
    const { engine, writes, nats } = await openPoints();
    const change = changeOf(engine, 40, 'x'.repeat(100_000));
    expect(change.length).toBeGreaterThan(3 * nats.maxPayload);
    expect(await writes.write(change, true)).toMatchObject({ sequence: 5, stored: 40 });
    expect(countOf(engine)).toBe(40);
    expect(engine.position.sequence).toBe(5);
  });

  test('a message of the wrong time is void, and one that was only slow is not', async () => {
    const { engine, follow, outcomes, publish } = await open();
    follow();
    await publish({ change: changeOf(engine) }, 31_000);
    await publish({ change: changeOf(engine) }, -31_000);
    await publish({ change: changeOf(engine) }, 20_000);
    await expect.poll(() => outcomes.length, PATIENCE).toBe(3);
    expect(outcomes.map(({ isVoid, stored }) => [isVoid, stored])).toEqual([
      [true, 0],
      [true, 0],
      [false, 1],
    ]);
    expect(countOf(engine)).toBe(1);
  });

  test('a replica goes on where it was, and applies no message twice', async () => {
    const { engine, follow, outcomes, publish, state } = await open();
    const first = follow();
    await publish({ change: changeOf(engine) });
    await expect.poll(() => outcomes.length, PATIENCE).toBe(1);
    first.stop();
    await first.ended();
    await publish({ change: changeOf(engine) });
    follow();
    await expect.poll(() => outcomes.length, PATIENCE).toBe(2);
    expect(outcomes.map(({ sequence, stored }) => [sequence, stored])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Following);
  });

  test('a replica that cannot be noted as that of its node confirms nothing until it is', async () => {
    const { engine, follow, outcomes, publish, state, log } = await open();
    const folder = makeTemporaryFolder();
    const file = NodeFile.open(folder, 'c');
    // The file cannot be written, as on a full disk.
    const obstacle = join(folder, 'node.json.new');
    mkdirSync(obstacle);
    follow(undefined, undefined, () => file.claim(engine.storeId));
    for (const _ of [1, 2, 3]) await publish({ change: changeOf(engine) });
    await expect.poll(() => engine.position.sequence, PATIENCE).toBe(3);
    await expect.poll(log, PATIENCE).toContain('cannot be noted');
    expect(outcomes).toEqual([]);
    expect(state.replica).not.toBe(ReplicaState.Stopped);
    rmSync(obstacle, { recursive: true });
    await expect.poll(() => outcomes.length, PATIENCE).toBe(3);
    expect(outcomes.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(NodeFile.open(folder, 'c').hasStore).toBe(true);
    expect(state.replica).toBe(ReplicaState.Following);
  });

  test.skipIf(!canMount())(
    `a replica that has not applied what it was given is behind ${NEEDS}`,
    async () => {
      const { engine, state, publishVoid, goOn } = await openOnFullDisk();
      await publishVoid(900);
      expect(state.replica).toBe(ReplicaState.Following);
      await publishVoid(200);
      await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Behind);
      expect(engine.position.sequence).toBeLessThan(5);
      await goOn();
    },
  );

  test.skipIf(!canMount())(
    `an engine is not given any number of messages at once ${NEEDS}`,
    async () => {
      const { nats, stream, publishVoid, goOn } = await openOnFullDisk();
      await publishVoid(2_000);
      const manager = await nats.manager();
      const givenTo = async () =>
        (await manager.consumers.list(stream).next())[0]?.delivered.stream_seq;
      await expect.poll(givenTo, PATIENCE).toBeGreaterThan(1_024);
      await sleep(500);
      // The client takes some more, before they are asked for.
      expect(await givenTo()).toBeLessThan(1_400);
      await goOn();
    },
  );

  test('a message that is not the next is not applied, and the node is behind', async () => {
    const { engine, nats, stream, publish, follow, state, log } = await open();
    const manager = await nats.manager();
    const created = await allowDeletes(manager, stream);
    for (const _ of [1, 2, 3]) await publish({ change: changeOf(engine) });
    await manager.streams.deleteMessage(stream, 2);
    const follower = follow(created);
    const reason = 'message 3 has come, but the replica needs 2';
    await expect.poll(log, PATIENCE).toContain(reason);
    await expect.poll(() => engine.position.sequence, PATIENCE).toBe(1);
    expect(state.replica).toBe(ReplicaState.Behind);
    // Another server might have it. What nobody has is given up in time.
    await sleep(SEVERAL_TRIES_MS);
    expect(follower.cutOff).toBeUndefined();
    await expect.poll(() => follower.cutOff, { timeout: 20_000 }).toBe(reason);
  });

  test('a stream that has another end than the replica has applied is not followed', async () => {
    const { engine, nats, stream, publish, follow, state, log } = await open();
    const manager = await nats.manager();
    follow(await allowDeletes(manager, stream));
    for (const _ of [1, 2]) await publish({ change: changeOf(engine) });
    await expect.poll(() => engine.position.sequence, PATIENCE).toBe(2);
    await manager.streams.deleteMessage(stream, 2);
    await servers().kill(0);
    servers().run(0);
    await servers().ready();
    await expect.poll(log, PATIENCE).toContain('message 2 of the stream is another one');
    expect(state.replica).toBe(ReplicaState.Behind);
  });

  test('another stream than that of the map is not followed', async () => {
    const { engine, nats, stream, publish, follow, state, log } = await open();
    follow('2001-01-01T00:00:00Z');
    await publish({ change: changeOf(engine) });
    await expect.poll(log, PATIENCE).toContain('but that of the map at 2001-01-01');
    expect(engine.position.sequence).toBe(0);
    expect(state.replica).toBe(ReplicaState.Behind);
    const manager = await nats.manager();
    expect((await manager.streams.info(stream)).state.messages).toBe(1);
  });

  test('a stream that has less than the replica, or begins after it, is not followed', async () => {
    const shorter = await open();
    await shorter.engine.apply(changeOf(shorter.engine), 1);
    shorter.follow();
    await expect
      .poll(shorter.log, PATIENCE)
      .toContain('ends with message 0, but the replica has 1 already');
    const later = await open();
    const manager = await later.nats.manager();
    for (const _ of [1, 2]) await later.publish({ change: changeOf(later.engine) });
    await manager.streams.purge(later.stream, { seq: 2 });
    later.follow();
    await expect
      .poll(later.log, PATIENCE)
      .toContain('begins with message 2, but the replica needs 1');
    expect(shorter.state.replica).toBe(ReplicaState.Behind);
    expect(later.state.replica).toBe(ReplicaState.Behind);
    expect(later.engine.position.sequence).toBe(0);
  });

  test('a replica is cut off as well where the parts of the next change are gone', async () => {
    const { engine, nats, stream, publish, follow } = await open();
    const part = await publish({ part: changeOf(engine), request: 8 });
    const next = await publish({ parts: { sequences: [BigInt(part)] }, request: 8 });
    await engine.apply(new Uint8Array(), part);
    const manager = await nats.manager();
    await manager.streams.purge(stream, { seq: next });
    const follower = follow();
    await expect
      .poll(() => follower.cutOff, PATIENCE)
      .toBe(`message ${part} cannot be read: the stream begins with ${next}`);
  });

  test('what no node has sent changes nothing, and each replica comes to the same history', async () => {
    const { engine, follow, outcomes, publish, publishBytes, strays } = await open();
    follow();
    const framed = inFrame({ ...NO_CONTENT, gateway: 'f'.repeat(16), request: 1, sentAtMs: 1n });
    const flipped = framed.slice();
    flipped[framed.length - 1] = 255;
    // Old versions take `hello` for a message that is too old.
    const sent = ['{"a":1}', 'hello', '[]', framed.subarray(0, 9), flipped, ''].map((bytes) =>
      Buffer.from(bytes),
    );
    const before = [engine.position];
    for (const bytes of sent) {
      const sequence = await publishBytes(bytes);
      await expect.poll(() => engine.position.sequence, PATIENCE).toBe(sequence);
      before.push(engine.position);
    }
    await publish({ change: changeOf(engine) });
    await expect.poll(() => outcomes.length, PATIENCE).toBe(1);
    expect(outcomes[0]).toMatchObject({ stored: 1, sequence: 7 });
    // That of no bytes is no stray.
    await expect.poll(strays, PATIENCE).toBe(5);
    expect(countOf(engine)).toBe(1);
    const other = await open();
    other.follow();
    for (const bytes of sent) await other.publishBytes(bytes);
    await expect.poll(() => other.engine.position, PATIENCE).toEqual(before[6]);
    // The history of a replica that has read other bytes is another one.
    const chains = await Promise.all(
      ['{"a":1}', '{"a":2}', 'hello', 'hallo'].map(async (text) => {
        const misled = await open();
        misled.follow();
        await misled.publishBytes(Buffer.from(text));
        await expect.poll(() => misled.engine.position.sequence, PATIENCE).toBe(1);
        return misled.engine.position.chain;
      }),
    );
    expect(chains[0]).toBe(before[1]?.chain);
    expect(new Set(chains).size).toBe(4);
  });

  test('a message with an empty change changes nothing, and its sender hears that', async () => {
    const { engine, follow, outcomes, publish, strays } = await open();
    follow();
    await publish({ change: new Uint8Array() });
    await publish({ change: changeOf(engine) });
    await expect.poll(() => outcomes.length, PATIENCE).toBe(2);
    expect(outcomes.map(({ isVoid, stored }) => [isVoid, stored])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    await expect.poll(strays, PATIENCE).toBe(1);
    const { engine: other, ...empty } = await open();
    empty.follow();
    await empty.publish({ change: new Uint8Array() }, 31_000);
    await expect.poll(() => other.position.sequence, PATIENCE).toBe(1);
    // That of one that is late has no bytes.
    expect(outcomes[0]?.chain).not.toBe(other.position.chain);
  });

  test('a message without a frame that is damaged in the stream changes nothing', async () => {
    const { engine, follow, outcomes, publish, publishBytes, strays, gateway } = await open();
    follow();
    const change = changeOf(engine);
    const whole = { ...NO_CONTENT, gateway: gateway.id, sentAtMs: BigInt(Date.now()), change };
    const bytes = unframed({ ...whole, request: 100 });
    const at = bytes.length - change.length;
    // Of the version, the kind, what is unused, the checksum, the rest, and the tag of the change.
    const bits = [0, 1, 7, 11, 15, 16, 31, 32, 63, 64, 8 * change.length - 1].map(
      (bit) => 8 * at + bit,
    );
    const tag = bytes.lastIndexOf(0x22, at - 1);
    for (const bit of [...bits, 8 * tag + 6]) await publishBytes(flip(bytes, bit));
    await publishBytes(bytes.subarray(0, tag));
    await publish({ change: change.subarray(0, 7) }, 0, unframed);
    // One bit of one of two parts.
    const request = 200;
    const sequences: bigint[] = [];
    for (const part of [change.subarray(0, 20), flip(change.subarray(20), 9)]) {
      sequences.push(BigInt(await publish({ part, request }, 0, unframed)));
    }
    await publish({ parts: { sequences }, request }, 0, unframed);
    const last = await publish({ change }, 0, unframed);
    await expect.poll(() => engine.position.sequence, PATIENCE).toBe(last);
    await expect.poll(strays, PATIENCE).toBe(bits.length + 4);
    // The outcome of one whose content alone is damaged is told.
    await expect.poll(() => outcomes.length, PATIENCE).toBe(2);
    expect(outcomes.map(({ isVoid, stored }) => [isVoid, stored])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(countOf(engine)).toBe(1);
  });

  test.each([
    ['a message', inFrame],
    ['a message without a frame', unframed],
  ])('%s that is damaged on its way to a replica is asked for again', async (_, encode) => {
    const link = await Link.open(servers().addresses[0] ?? '');
    onTestFinished(() => link.close());
    const { engine, follow, outcomes, publish, strays, state } = await open(undefined, {}, link);
    follow();
    await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Following);
    link.damage('a whole text', 'a w#ole text');
    await publish({ change: changeOf(engine, 1, 'a whole text') }, 0, encode);
    await expect.poll(() => outcomes.length, PATIENCE).toBe(1);
    expect(link.isDamaged).toBe(true);
    expect(outcomes[0]).toMatchObject({ isVoid: false, stored: 1 });
    expect(strays()).toBe(0);
    const { records } = await engine.scroll({ ...PAGE, include: ALL }, () => undefined);
    expect(Buffer.from(records.contents).toString()).toBe('a whole text');
  });

  test('messages without a frame, as they once were, are read', async () => {
    const { engine, follow, outcomes, publish, strays } = await open();
    follow();
    await publish({ change: changeOf(engine) }, 0, unframed);
    const part = await publish({ part: changeOf(engine), request: 7 }, 0, unframed);
    await publish({ parts: { sequences: [BigInt(part)] }, request: 7 }, 0, unframed);
    await publish({ change: changeOf(engine) }, 31_000, unframed);
    await expect.poll(() => outcomes.length, PATIENCE).toBe(3);
    expect(outcomes.map(({ isVoid, stored }) => [isVoid, stored])).toEqual([
      [false, 1],
      [false, 1],
      [true, 0],
    ]);
    expect(strays()).toBe(0);
  });

  test('many that no node has sent are asked for side by side, and nothing changes its order', async () => {
    const { stream, engine, follow, publish, publishBytes, outcomes, strays, replicas } =
      await open();
    const changes = [1, 2, 3].map(() => changeOf(engine));
    const stray = (number: number) => Buffer.from(JSON.stringify({ stray: number }));
    for (const [at, change] of changes.entries()) {
      for (let number = 0; number < 100; number += 1) await publishBytes(stray(100 * at + number));
      await publish({ change });
    }
    const asked = await replicas.watchReads(stream);
    follow();
    await expect.poll(() => outcomes.length, PATIENCE).toBe(3);
    expect(outcomes.map(({ sequence, stored }) => [sequence, stored])).toEqual([
      [101, 1],
      [202, 1],
      [303, 1],
    ]);
    expect(strays()).toBe(300);
    // Two questions for each.
    expect(asked).toMatchObject({ all: 600 });
    expect(asked.most).toBeGreaterThan(16);
    const { engine: other, ...slow } = await open();
    slow.follow();
    for (const [at, change] of changes.entries()) {
      for (let number = 0; number < 100; number += 1) {
        const sequence = await slow.publishBytes(stray(100 * at + number));
        await expect.poll(() => other.position.sequence, { interval: 1 }).toBe(sequence);
      }
      await slow.publish({ change });
    }
    await expect.poll(() => other.position, PATIENCE).toEqual(engine.position);
  });

  test.each([
    ['holds nothing that it knows', {}, inFrame, 'holds no change that this vectord knows'],
    ['holds what is no change', { change: Buffer.from('no change') }, inFrame, ''],
    [
      'is of a newer version',
      { change: Buffer.from('new') },
      (message: StreamMessage) => inFrame(message, 2),
      'message 2 has version 2 and kind 1, but this vectord reads version 1',
    ],
  ])('a replica stops at a message that %s', async (_, content, encode, reason) => {
    const { engine, publish, follow, state, log } = await open();
    await publish({ change: changeOf(engine) });
    await publish(content, 0, encode);
    await publish({ change: changeOf(engine) });
    const follower = follow();
    await expect.poll(() => state.replica, PATIENCE).toBe(ReplicaState.Stopped);
    expect(engine.position.sequence).toBe(1);
    expect(log()).toContain(reason);
    expect(follower.fault).toContain(reason);
    expect(log()).toContain('the replica of this node has stopped');
  });

  test('a change whose parts are none, or too many, is void', async () => {
    const { engine, publish, publishBytes, follow, outcomes, strays, nats, stream } = await open();
    const change = changeOf(engine);
    const request = 99;
    await publishBytes(Buffer.from('trimmed'));
    await publish({ change: changeOf(engine) });
    const manager = await nats.manager();
    await engine.apply(new Uint8Array(), 1);
    await manager.streams.purge(stream, { seq: 2 });
    const part = await publish({ part: change, request });
    await publish({ part: change.subarray(1), request });
    await publish({ part: change, request: request + 1 });
    await publish({ part: new Uint8Array(), request });
    const wrong = [
      [],
      [6n],
      [2n],
      [0n],
      [1n],
      [1_000n],
      Array(100_000).fill(3n),
      [4n, 4n],
      [3n, 4n],
      [5n],
      [3n, 2n],
    ];
    for (const sequences of wrong) await publish({ parts: { sequences }, request });
    await publish({ parts: { sequences: [BigInt(part)] }, request });
    // What is gone was stored long before, by this measure.
    follow(undefined, { changeBytes: 2 * change.length - 2, partsMs: -60_000 });
    await expect.poll(() => engine.position.sequence, PATIENCE).toBe(18);
    await expect.poll(strays, PATIENCE).toBe(wrong.length);
    expect(countOf(engine)).toBe(2);
    expect(outcomes.map(({ isVoid, stored }) => [isVoid, stored])).toEqual([
      [false, 1],
      [true, 0],
    ]);
  });

  test('a request with more ids than an outcome has room for is refused', async () => {
    const { engine, points, nats } = await openPoints();
    const ids = new Uint8Array(nats.maxPayload * POINT_ID_BYTES);
    const tooLarge = { code: 'TOO_LARGE', message: expect.stringContaining('max_payload') };
    await expect(points.deleteMany(ids)).rejects.toMatchObject(tooLarge);
    expect(engine.position.sequence).toBe(0);
  });
});

const MOST = { changeBytes: 2 ** 30, partsMs: 60_000 };
const ALL = { vector: false, contentType: true, content: true, metadata: false };
const PAGE = { after: undefined, limit: 10, newestFirst: false, maxBytes: 1e6 };
const NO_CONTENT = { change: undefined, part: undefined, parts: undefined };

/** The bytes of a message, as they were before there were frames. */
function unframed(message: StreamMessage): Uint8Array {
  return StreamMessage.encode(message).finish();
}

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = bytes.slice();
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

async function connectBy({ address }: Link): Promise<Nats> {
  const settings = { clusterUrls: [`nats://${address}`], clusterCredentials: undefined };
  const nats = await Nats.connect(settings);
  onTestFinished(async () => await nats.close());
  return nats;
}

/** Makes the stream anew, for that of a cluster lets nobody delete a message. */
async function allowDeletes(manager: JetStreamManager, stream: string): Promise<string> {
  const { config } = await manager.streams.info(stream);
  await manager.streams.delete(stream);
  const { created } = await manager.streams.add({ ...config, deny_delete: false });
  return created;
}

function countOf(engine: Engine): number {
  return engine.status().points;
}
