import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MemoryBudget } from '../../src/admission/memory-budget.js';
import { Nats } from '../../src/cluster/nats/nats.js';
import { NodeState, ReplicaState } from '../../src/cluster/voting/node-state.js';
import { OtherReplicas } from '../../src/cluster/reads/other-replicas.js';
import { Packets } from '../../src/cluster/nats/packets.js';
import { Questions } from '../../src/cluster/voting/questions.js';
import { encodeQuestion } from '../../src/cluster/reads/read-messages.js';
import { ReadServer, refusalOf } from '../../src/cluster/reads/read-server.js';
import { Reads } from '../../src/cluster/reads/reads.js';
import { RemoteReplica } from '../../src/cluster/reads/remote-replica.js';
import { Session } from '../../src/cluster/reads/session.js';
import { ReplicatedPoints } from '../../src/cluster/replicated-points.js';
import { Writes } from '../../src/cluster/writes.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { bitsOf, includeOf } from '../../src/core/include.js';
import { Similarity } from '../../src/core/model.js';
import { POINT_ID_BYTES } from '../../src/core/point-id.js';
import {
  ANY_BYTES,
  type Found,
  type NeighbourQueries,
  type Records,
} from '../../src/core/records.js';
import { describeQuery, describeSingle } from '../../src/core/rules.js';
import { asNeighbourQueries } from '../../src/core/searches.js';
import type { Engine } from '../../src/engine/native.js';
import {
  ReadAnswer,
  ReadQuestion,
  type StreamMessage,
} from '../../src/gen/vectord/cluster/v1/cluster.js';
import { createLogger } from '../../src/observe/logger.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import {
  changeOf,
  openEngine,
  openShard,
  ownNatsServer,
  SHARD,
  SILENT,
} from '../support/replicas.js';

const POINTS = 60;
/** A content with which all points together take several messages. */
const LONG = 'x'.repeat(60_000);
/** The bytes of all points that a replica has found for a delete. */
const KEPT = POINTS * 24;
/** So many results a replica keeps for deletes whose messages have not come. */
const MOST_FOUND = 256;
const goesOn = (): void => undefined;
const DIMENSION = 4;
/** Far less than a replica that is silent would have a read wait. */
const SOON_MS = 4_000;
/** So long nothing happens where nothing is to happen. */
const QUIET_MS = 300;

describe.skipIf(HAS_NO_NATS)('reads of another node (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** A node without a replica, and nodes that have one, each with the same points. */
  async function open({ replicas = 1, content = 'text', mode = 'strong' as const } = {}) {
    const shard = await openShard(servers());
    const { cluster } = shard;
    const urls = servers().addresses.map((address) => `nats://${address}`);
    const connectNode = async (): Promise<Nats> => {
      const nats = await Nats.connect({ clusterUrls: urls, clusterCredentials: undefined });
      onTestFinished(async () => await nats.close());
      return nats;
    };
    let change: Uint8Array | undefined;
    const holders = [];
    for (let replica = 0; replica < replicas; replica += 1) {
      const engine = await openEngine();
      change ??= changeOf(engine, POINTS, content);
      const state = new NodeState();
      state.applied.note(await engine.apply(change, 1));
      const nats = await connectNode();
      const reads = new Reads(engine, new Questions(shard.gateway, 0, replica), state, 'strong');
      const server = new ReadServer(engine, reads, state, new MemoryBudget(2 ** 30), SILENT);
      const asked: ReadQuestion[] = [];
      const serve = async (): Promise<void> => {
        const served = new Packets(nats, cluster, new MemoryBudget(2 ** 30));
        const answer = async (bytes: Uint8Array): Promise<Uint8Array> => {
          asked.push(ReadQuestion.decode(bytes));
          return await server.answer(bytes);
        };
        served.serve(subjects.reads(cluster, SHARD, replica), answer, refusalOf);
        await nats.connection.flush();
      };
      holders.push({ engine, state, serve, asked });
    }
    const nats = await connectNode();
    const packets = new Packets(nats, cluster, new MemoryBudget(2 ** 30));
    const state = new NodeState();
    const remote = (replica: number, readMode: 'strong' | 'session' = mode): RemoteReplica => {
      const session = new Session(readMode, state.acknowledged);
      return new RemoteReplica(packets, subjects.reads(cluster, SHARD, replica), session);
    };
    const others = new OtherReplicas(
      new Map(holders.map((_, replica) => [replica, remote(replica)])),
    );
    /** Has a replica be one that hears questions and never answers; tells how often it was asked. */
    const suspend = async (replica: number): Promise<() => number> => {
      const silent = await connect({ servers: [...servers().addresses] });
      onTestFinished(async () => await silent.close());
      let count = 0;
      const callback = (): void => void (count += 1);
      silent.subscribe(subjects.reads(cluster, SHARD, replica), { callback });
      await silent.flush();
      return () => count;
    };
    await nats.connection.flush();
    return {
      shard,
      holders,
      others,
      remote,
      suspend,
      asker: state,
      firstChange: () => change as Uint8Array,
    };
  }

  const served = async (options?: Parameters<typeof open>[0]) => {
    const opened = await open(options);
    for (const { serve } of opened.holders) await serve();
    const [holder] = opened.holders as [(typeof opened.holders)[0]];
    return { ...opened, ...holder };
  };

  test('are answered as the replica answers its own node', async () => {
    const { engine, remote } = await served();
    const replica = remote(0);
    const ids = await idsOf(engine);
    const unknown = new Uint8Array(POINT_ID_BYTES).fill(7);
    const asked = Buffer.concat([ids.subarray(0, 5 * POINT_ID_BYTES), unknown]);
    for (const bits of [0, 1, 2, 4, 8, 15]) {
      const include = includeOf(bits);
      expect(plainGathered(await replica.getMany(asked, include, ANY_BYTES))).toEqual(
        plainGathered(await engine.getMany(asked, include, ANY_BYTES, goesOn)),
      );
      const queries = queriesOf(3, ids);
      expect(
        plainFound(await replica.findBatch(queries, include, ANY_BYTES, describeQuery)),
      ).toEqual(
        plainFound(await engine.findBatch(queries, include, ANY_BYTES, describeQuery, goesOn)),
      );
    }
    const filter = '{"n":1}';
    expect(await replica.count(undefined)).toBe(POINTS);
    expect(await replica.count(filter)).toBe(await engine.count(filter, goesOn));
  });

  test('a scroll has the pages of the replica', async () => {
    const { engine, remote } = await served();
    const replica = remote(0);
    for (const newestFirst of [false, true]) {
      const request = {
        limit: 25,
        newestFirst,
        filter: undefined,
        include: includeOf(15),
        maxBytes: ANY_BYTES,
      };
      let after: Uint8Array | undefined;
      let pages = 0;
      do {
        const page = await replica.scroll({ ...request, after });
        const own = await engine.scroll({ ...request, after }, goesOn);
        expect(plain(page.records)).toEqual(plain(own.records));
        expect(page.next && Buffer.from(page.next)).toEqual(own.next);
        after = page.next;
        pages += 1;
      } while (after !== undefined);
      expect(pages).toBe(3);
    }
  });

  test('questions and answers may be larger than messages', async () => {
    const { engine, remote } = await served({ content: LONG });
    const ids = await idsOf(engine);
    const include = includeOf(15);
    const { records } = await remote(0).getMany(ids, include, ANY_BYTES);
    expect(records.contents.length).toBe(POINTS * LONG.length);
    expect(plain(records)).toEqual(
      plain((await engine.getMany(ids, include, ANY_BYTES, goesOn)).records),
    );
    const queries = queriesOf(60_000);
    const found = await remote(0).findBatch(queries, includeOf(0), ANY_BYTES, describeQuery);
    expect(found.counts.length).toBe(60_000);
    expect(plainFound(found)).toEqual(
      plainFound(await engine.findBatch(queries, includeOf(0), ANY_BYTES, describeQuery, goesOn)),
    );
  });

  test('are refused as the replica refuses those of its own node', async () => {
    const { engine, remote } = await served();
    const ids = await idsOf(engine);
    const unknown = queriesOf(2, new Uint8Array(2 * POINT_ID_BYTES).fill(9));
    for (const describeItem of [describeQuery, describeSingle]) {
      const own = await engine
        .findBatch(unknown, includeOf(0), ANY_BYTES, describeItem, goesOn)
        .catch((error: unknown) => error);
      await expect(
        remote(0).findBatch(unknown, includeOf(0), ANY_BYTES, describeItem),
      ).rejects.toMatchObject({ code: 'NOT_FOUND', message: (own as Error).message });
    }
    await expect(remote(0).getMany(ids, includeOf(15), 10)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('MAX_REQUEST_BYTES') as string,
    });
    await expect(
      remote(0).scroll({
        after: new Uint8Array(3),
        limit: 1,
        newestFirst: false,
        include: includeOf(0),
        maxBytes: 1,
      }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('go to another replica where one does not run, is closed or says nothing', async () => {
    const { holders, others, suspend } = await open({ replicas: 5 });
    await holders[1]?.serve();
    await holders[1]?.engine.close();
    const askedInVain = [await suspend(2), await suspend(4)];
    await holders[3]?.serve();
    const find = async () =>
      await others.read('search', (replica) =>
        replica.findBatch(queriesOf(1), includeOf(0), ANY_BYTES, describeSingle, goesOn),
      );
    // Each of them is the first in turn once.
    const begunAtMs = performance.now();
    for (let at = 0; at < 10; at += 1) expect((await find()).counts).toEqual(Uint32Array.of(4));
    expect(performance.now() - begunAtMs).toBeLessThan(2 * SOON_MS);
    expect(holders[3]?.asked.length).toBe(10);
    expect(askedInVain.map((count) => count())).toEqual([1, 1]);
  });

  test('go on to the next replica however many say nothing', async () => {
    const { holders, others, suspend } = await open({ replicas: 4 });
    for (const silent of [0, 1, 2]) await suspend(silent);
    await holders[3]?.serve();
    const begunAtMs = performance.now();
    const count = await others.read(
      'get',
      async (replica) => await replica.count(undefined, goesOn),
    );
    expect(count).toBe(POINTS);
    expect(performance.now() - begunAtMs).toBeLessThan(SOON_MS);
  });

  test('are refused where no replica answers, and where another would refuse them as well', async () => {
    const { holders, others } = await open({ replicas: 2 });
    const find = async (queries: NeighbourQueries) =>
      await others.read('search', (replica) =>
        replica.findBatch(queries, includeOf(0), ANY_BYTES, describeSingle, goesOn),
      );
    await expect(find(queriesOf(1))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('a replica does not answer') as string,
    });
    for (const { serve } of holders) await serve();
    const unknown = queriesOf(1, new Uint8Array(POINT_ID_BYTES).fill(9));
    await expect(find(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(holders.map(({ asked }) => asked.length).toSorted()).toEqual([0, 1]);
  });

  test('the points of a delete are kept until its message comes', async () => {
    const { engine, asked, remote } = await served();
    const filter = '{"$not":{"x":1}}';
    await remote(0).findToDelete(filter);
    expect(asked.map(({ count }) => count)).toEqual([{ filter, toDelete: true, givesBack: false }]);
    expect(engine.metrics().queuedBytes).toBeGreaterThan(POINTS * POINT_ID_BYTES);
    const { deleted } = await engine.apply(engine.messages.deleteMatching(filter), 2);
    expect(deleted).toBe(POINTS);
    expect(engine.metrics().queuedBytes).toBe(0);
  });

  test('the points of a delete are given back where its message does not come', async () => {
    const { engine, remote } = await served();
    const filter = '{"$not":{"x":1}}';
    const find = async () => await remote(0).findToDelete(filter);
    for (let at = 0; at < MOST_FOUND; at += 1) await find();
    await expect(find()).rejects.toMatchObject({ code: 'OVERLOADED' });
    await remote(0).giveBackFound(filter);
    await find();
    for (let at = 0; at < MOST_FOUND; at += 1) await remote(0).giveBackFound(filter);
    expect(engine.metrics().queuedBytes).toBe(0);
  });

  /** A gateway with a replica of its own and two others deletes all points by a filter. */
  async function deleteAllMatching({ serves = true } = {}) {
    const { shard, holders, others, firstChange } = await open({ replicas: 2 });
    if (serves) for (const { serve } of holders) await serve();
    const engine = await openEngine();
    await engine.apply(firstChange(), 1);
    const { cluster, nats, gateway, replicas } = shard;
    const state = new NodeState();
    const writes = new Writes(nats, gateway, subjects.log(cluster, SHARD), 3, state);
    onTestFinished(() => writes.close());
    const reads = new Reads(engine, new Questions(gateway, 2, 0), state, 'strong');
    const points = new ReplicatedPoints(engine, { number: 2, reads }, others, writes, nats, state);
    const deleted = points.deleteMatching('{"$not":{"x":1}}').catch((error: unknown) => error);
    const engines = [engine, ...(serves ? holders.map((holder) => holder.engine) : [])];
    const held = (): number[] => engines.map((each) => each.metrics().queuedBytes);
    return { deleted, held, replicas, writes };
  }

  test('what all replicas have found is given back where the message of a delete came too late', async () => {
    const { deleted, held, replicas } = await deleteAllMatching();
    await expect.poll(held).toEqual([KEPT, KEPT, KEPT]);
    await expect.poll(() => replicas.messages.length).toBe(1);
    const [message] = replicas.messages as [StreamMessage];
    for (const replica of [0, 1]) replicas.confirm(message, replica, {}, { isVoid: true });
    expect(await deleted).toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(held).toEqual([0, 0, 0]);
  });

  test('what a replica has found is given back where too few have found the points of a delete', async () => {
    const { deleted, held } = await deleteAllMatching({ serves: false });
    expect(await deleted).toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(held).toEqual([0]);
  });

  test('what is found is kept where the message of a delete may still come', async () => {
    const { deleted, held, replicas, writes } = await deleteAllMatching();
    await expect.poll(held).toEqual([KEPT, KEPT, KEPT]);
    await expect.poll(() => replicas.messages.length).toBe(1);
    writes.close();
    expect(await deleted).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await sleep(QUIET_MS);
    expect(held()).toEqual([KEPT, KEPT, KEPT]);
  });

  test('one of a session waits for what its node has acknowledged', async () => {
    const { engine, state, asked, asker, remote, firstChange } = await served();
    const replica = remote(0, 'session');
    // The first is a strong one: a node that was started does not know what it has acknowledged.
    for (const _ of [1, 2]) expect(await replica.count(undefined)).toBe(POINTS);
    expect(asked.map(({ after }) => after?.sequence)).toEqual([undefined, 1n]);
    const change = changeOf(engine);
    const twin = await openEngine();
    await twin.apply(firstChange(), 1);
    asker.acknowledged.note(await twin.apply(change, 2));
    let answer: number | undefined;
    const read = replica.count(undefined).then((count) => (answer = count));
    await sleep(QUIET_MS);
    expect(answer).toBeUndefined();
    state.applied.note(await engine.apply(change, 2));
    await read;
    expect(answer).toBe(POINTS + 1);
  });

  test('one of a session is a strong one where the replica does not follow its stream', async () => {
    const { engine, state } = await served();
    const { gateway } = await openShard(servers());
    // No other replica answers: a strong read is refused.
    const reads = new Reads(engine, new Questions(gateway, 1, 0), state, 'session');
    const server = new ReadServer(engine, reads, state, new MemoryBudget(2 ** 30), SILENT);
    const question = encodeQuestion(
      { count: { filter: undefined, toDelete: false, givesBack: false } },
      engine.position,
    );
    const answer = async () => ReadAnswer.decode(await server.answer(question));
    state.replica = ReplicaState.Following;
    expect(await answer()).toMatchObject({ refused: undefined, count: POINTS });
    state.replica = ReplicaState.Stopped;
    expect((await answer()).refused?.code).toBe('UNAVAILABLE');
  });

  test('takes the bytes of its answer of the budget of the node, and is refused where there is no room', async () => {
    const { engine, state } = await served();
    const { gateway } = await openShard(servers());
    const reads = new Reads(engine, new Questions(gateway, 0, 0), state, 'strong');
    const ids = await idsOf(engine);
    const read = {
      getMany: { ids, include: bitsOf({ ...includeOf(0), vector: true }), maxBytes: ANY_BYTES },
    };
    const codeWith = async (bytes: number): Promise<string | undefined> => {
      const budget = new MemoryBudget(bytes);
      const server = new ReadServer(engine, reads, state, budget, SILENT);
      const { refused } = ReadAnswer.decode(await server.answer(encodeQuestion(read, undefined)));
      expect(budget.usedBytes).toBe(0);
      return refused?.code;
    };
    expect(await codeWith(ids.length)).toBe('OVERLOADED');
    expect(await codeWith(100 * ids.length)).toBeUndefined();
  });

  test('what is no question is refused, and logged a few times only', async () => {
    const { engine, state } = await served();
    const { gateway } = await openShard(servers());
    const reads = new Reads(engine, new Questions(gateway, 0, 0), state, 'strong');
    let log = '';
    const logger = createLogger('info', { write: (line) => void (log += line) });
    const server = new ReadServer(engine, reads, state, new MemoryBudget(2 ** 30), logger);
    const codes = new Set<string | undefined>();
    for (let sent = 0; sent < 1_000; sent += 1) {
      const { refused } = ReadAnswer.decode(await server.answer(Buffer.of(0xff)));
      codes.add(refused?.code);
    }
    expect([...codes]).toEqual(['INTERNAL']);
    const lines = log.split('\n').filter((line) => line.includes('a read of another node'));
    expect(lines.length).toBeGreaterThanOrEqual(10);
    // Ten in each second that they take.
    expect(lines.length).toBeLessThan(500);
  });

  test('one of a session is refused by a replica with another history', async () => {
    const { asker, remote } = await served();
    const replica = remote(0, 'session');
    expect(await replica.count(undefined)).toBe(POINTS);
    asker.acknowledged.note({ sequence: 1, chain: 1 });
    await expect(replica.count(undefined)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('another history') as string,
    });
  });
});

/** Queries with vectors, or for the neighbours of the first of these ids. */
function queriesOf(count: number, likes?: Uint8Array): NeighbourQueries {
  const queries = asNeighbourQueries({
    vectors: Float32Array.from({ length: likes ? 0 : count * DIMENSION }, (_, at) => at % 5),
    similarities: new Uint8Array(count).fill(Similarity.Euclidean),
    limits: new Uint32Array(count).fill(4),
    efs: new Uint32Array(count).fill(100),
  });
  return likes ? { ...queries, likes: likes.subarray(0, count * POINT_ID_BYTES) } : queries;
}

async function idsOf(engine: Engine): Promise<Uint8Array> {
  const request = {
    limit: POINTS,
    newestFirst: false,
    include: includeOf(0),
    maxBytes: ANY_BYTES,
  };
  return (await engine.scroll(request, goesOn)).records.ids;
}

/** The same arrays, whatever memory they are in. */
function plain(records: Records): object {
  return Object.fromEntries(
    Object.entries(records).map(([name, part]: [string, ArrayBufferView]) => [
      name,
      Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('hex'),
    ]),
  );
}

function plainFound({ counts, distances, records }: Found): object {
  return { counts: [...counts], distances: [...distances], records: plain(records) };
}

function plainGathered({ records, found }: { records: Records; found: Uint8Array }): object {
  return { records: plain(records), found: [...found] };
}
