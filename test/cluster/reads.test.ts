import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Gateway } from '../../src/cluster/voting/gateway.js';
import { NodeState } from '../../src/cluster/voting/node-state.js';
import { toWirePosition } from '../../src/cluster/voting/outcome.js';
import { Questions } from '../../src/cluster/voting/questions.js';
import { Reads, type ReadMode } from '../../src/cluster/reads/reads.js';
import type { StreamPosition } from '../../src/engine/native.js';
import type { Question } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import {
  changeOf,
  openEngine,
  openShard,
  ownNatsServer,
  SHARD,
  SILENT,
} from '../support/replicas.js';

/** So long nothing happens where nothing is to happen. */
const QUIET_MS = 300;
const OWN = 0;

describe.skipIf(HAS_NO_NATS)('reads of a loop (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** The reads of a node with a real replica, the first of three, whose replica has one point. */
  async function open(mode: ReadMode = 'strong') {
    const shard = await openShard(servers());
    const { nats, cluster, replicas } = shard;
    const engine = await openEngine();
    await engine.apply(changeOf(engine), 1);
    const state = new NodeState();
    const gateway = new Gateway(nats, cluster, SHARD, 3, SILENT, state.incarnations);
    const questions = new Questions(gateway, 1, OWN, 0);
    const reads = new Reads(engine, questions, state, mode);
    const count = async () => await engine.count(undefined, () => undefined);
    /** Begins a read; answers it, and what is known of it. */
    const begin = (act: () => Promise<number> = count) => {
      let settled: unknown;
      const read = reads.read(act);
      read.then(
        (answer) => (settled = answer),
        (error: unknown) => (settled = error),
      );
      return { read, settled: () => settled };
    };
    /** A replica answers a question. */
    const answer = (
      replica: number,
      { number }: Question,
      position?: StreamPosition,
      incarnations: number[] = [],
    ) => {
      const wire = position && toWirePosition(position);
      replicas.tell(gateway.id, replica, { answer: { number, position: wire }, incarnations });
    };
    return { ...shard, engine, state, begin, answer };
  }

  test('a strong read waits for another replica, not for its own', async () => {
    const { begin, answer, replicas, engine } = await open();
    replicas.onQuestion = (question) => answer(OWN, question, engine.position);
    const { read, settled } = begin();
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.onQuestion = (question) => answer(2, question, engine.position);
    expect(await read).toBe(1);
    // One with the same history needs no second look.
    expect(replicas.questions.every(({ reached }) => reached === undefined)).toBe(true);
  });

  test('where another node has the place of this one nothing is read', async () => {
    const { begin, answer, replicas, engine } = await open();
    replicas.onQuestion = (question) => answer(1, question, engine.position, [1]);
    await expect(begin().read).rejects.toThrow('another node has the place of this one');
  });

  test('what is told of a log that the own replica knows to be lost does not count', async () => {
    const { begin, answer, replicas, engine, state } = await open();
    state.incarnations[1] = 1;
    replicas.onQuestion = (question) => answer(1, question, engine.position);
    const { read, settled } = begin();
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    replicas.onQuestion = (question) => answer(1, question, engine.position, [0, 1]);
    expect(await read).toBe(1);
  });

  test('a strong read waits for the greatest position of a majority', async () => {
    const { begin, answer, replicas, engine } = await open();
    let ahead = { sequence: 2, chain: 0 };
    replicas.onQuestion = (question) => answer(1, question, ahead);
    const { read, settled } = begin();
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    ahead = await engine.apply(changeOf(engine), 2);
    expect(await read).toBe(2);
  });

  test('a strong read waits until a majority has what it has read', async () => {
    const { begin, answer, replicas, engine } = await open();
    const before = engine.position;
    const looks: Question[] = [];
    replicas.onQuestion = (question) => {
      if (question.reached === undefined) answer(1, question, before);
      else looks.push(question);
    };
    await engine.apply(changeOf(engine), 2);
    const { read, settled } = begin();
    await expect.poll(() => looks.length).toBeGreaterThan(0);
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    for (const look of looks) answer(1, look, engine.position);
    expect(await read).toBe(2);
    // That is known from now on.
    const asked = looks.length;
    expect(await begin().read).toBe(2);
    expect(looks.length).toBe(asked);
  });

  test('a write that shows while a strong read is answered is looked for as well', async () => {
    const { begin, answer, replicas, engine } = await open();
    const before = engine.position;
    let look: Question | undefined;
    replicas.onQuestion = (question) => {
      if (question.reached === undefined) answer(1, question, before);
      else look = question;
    };
    const { read, settled } = begin(async () => (await engine.apply(changeOf(engine), 2)).stored);
    await expect.poll(() => look?.reached?.sequence).toBe(2n);
    expect(settled()).toBeUndefined();
    answer(2, look as Question, engine.position);
    expect(await read).toBe(1);
  });

  test('what shows before its message is done is looked for as well', async () => {
    const { begin, answer, replicas, engine } = await open();
    const before = engine.position;
    const looks: Question[] = [];
    replicas.onQuestion = (question) => {
      if (question.reached === undefined) answer(1, question, before);
      else looks.push(question);
    };
    const changes = [2, 3, 4, 5, 6].map(() => changeOf(engine, 20_000));
    let seen = before;
    const { read, settled } = begin(async () => {
      // The points show on another thread, sooner or later than this one looks.
      for (const [at, change] of changes.entries()) {
        void engine.apply(change, at + 2);
        while (engine.horizon.sequence < at + 2);
        seen = engine.horizon;
        if (engine.position.sequence < seen.sequence) break;
      }
      return 7;
    });
    await expect.poll(() => looks.length).toBeGreaterThan(0);
    expect(looks[0]?.reached).toEqual(toWirePosition(seen));
    expect(settled()).toBeUndefined();
    for (const look of looks) answer(1, look, seen);
    expect(await read).toBe(7);
  });

  test('an error of a strong read is no answer until a majority has what it has read', async () => {
    const { begin, answer, replicas, engine } = await open();
    const before = engine.position;
    let look: Question | undefined;
    replicas.onQuestion = (question) => {
      if (question.reached === undefined) answer(1, question, before);
      else look = question;
    };
    await engine.apply(changeOf(engine), 2);
    const { read, settled } = begin(() => Promise.reject(new Error('no such point')));
    await expect.poll(() => look).toBeDefined();
    expect(settled()).toBeUndefined();
    answer(1, look as Question, engine.position);
    await expect(read).rejects.toThrow('no such point');
  });

  test('a strong read is refused where it cannot see enough', async () => {
    const alone = await open();
    const behind = await open();
    behind.replicas.onQuestion = (question) =>
      behind.answer(1, question, { sequence: 3, chain: 0 });
    // Replicas that have come to the same position with another history, or do not remember it.
    const astray = await open();
    const { sequence, chain } = astray.engine.position;
    const other = { sequence, chain: (chain ^ 1) >>> 0 };
    astray.replicas.onQuestion = (question) => {
      astray.answer(1, question, other);
      astray.answer(2, question, question.reached === undefined ? other : undefined);
    };
    const [one, two, three] = [alone, behind, astray].map(({ begin }) => begin().read);
    await expect(one).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('a majority of the replicas has not answered within 5 s'),
    });
    await expect(two).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('the replica of this node lacks 2 messages'),
    });
    await expect(three).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(astray.replicas.questions.at(-1)?.reached).toEqual(toWirePosition({ sequence, chain }));
  });

  /** A session whose first read has been answered. */
  async function openSession() {
    const session = await open('session');
    const { engine, state, replicas, answer, begin } = session;
    state.applied.begin(engine.position);
    replicas.onQuestion = (question) => answer(1, question, engine.position);
    expect(await begin().read).toBe(1);
    expect(replicas.questions.length).toBeGreaterThan(0);
    replicas.questions.length = 0;
    return session;
  }

  test('a read of a session waits for what its node has acknowledged, and asks nobody', async () => {
    const { begin, replicas, engine, state } = await openSession();
    expect(await begin().read).toBe(1);
    const outcome = await engine.apply(changeOf(engine), 2);
    state.acknowledged.note(outcome);
    const { read, settled } = begin();
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    state.applied.note(outcome);
    expect(await read).toBe(2);
    expect(replicas.questions).toEqual([]);
  });

  test('a read of a session is refused where the replica has another history', async () => {
    const { begin, engine, state } = await openSession();
    const outcome = await engine.apply(changeOf(engine), 2);
    state.acknowledged.note({ ...outcome, chain: outcome.chain ^ 1 });
    state.applied.note(outcome);
    await expect(begin().read).rejects.toThrow('another history');
  });

  test('the first read of a session is a strong one, which sees what was acknowledged before', async () => {
    const { begin, replicas, engine, state, answer } = await open('session');
    // It was started with a new folder, and has come to a message of another node since.
    state.applied.begin({ sequence: 0, chain: 0 });
    state.applied.note(engine.position);
    let ahead = { sequence: 2, chain: 0 };
    replicas.onQuestion = (question) => answer(1, question, ahead);
    const { read, settled } = begin();
    await sleep(QUIET_MS);
    expect(settled()).toBeUndefined();
    ahead = await engine.apply(changeOf(engine), 2);
    expect(await read).toBe(2);
  });
});
