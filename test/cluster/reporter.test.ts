import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENVELOPE_BYTES } from '../../src/cluster/nats/message.js';
import { NodeFile } from '../../src/cluster/map/node-file.js';
import { NodeState } from '../../src/cluster/voting/node-state.js';
import { Reporter } from '../../src/cluster/replica/reporter.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import {
  Question,
  type Answer,
  type Confirmation,
} from '../../src/gen/vectord/cluster/v1/cluster.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { openEngine, openShard, ownNatsServer, SHARD } from '../support/replicas.js';

const REPLICA = 2;
const OUTCOME = Buffer.of(7);
/** In this time an answer would have come. */
const QUIET_MS = 300;

describe.skipIf(HAS_NO_NATS)('what a replica tells (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** The reporter of a replica, and what a gateway has heard of it. */
  async function open(folder = makeTemporaryFolder()) {
    const { nats, cluster, gateway } = await openShard(servers());
    const engine = await openEngine();
    const state = new NodeState();
    const place = { cluster, shard: SHARD, replica: REPLICA };
    const lostLogs = NodeFile.open(folder, cluster);
    const reporter = new Reporter(nats, engine, place, state, lostLogs);
    onTestFinished(() => reporter.close());
    const confirmations: Confirmation[] = [];
    const answers: Answer[] = [];
    gateway.onConfirmation = (replica, confirmation) => {
      expect(replica).toBe(REPLICA);
      confirmations.push(confirmation);
    };
    gateway.onAnswer = (_, answer) => void answers.push(answer);
    /** The replica has come to a message of the gateway. */
    const note = (sequence: number, outcome: Uint8Array = OUTCOME) =>
      reporter.note(
        { sequence, chain: sequence + 100 },
        { gateway: gateway.id, request: sequence },
        outcome,
      );
    return {
      nats,
      cluster,
      folder,
      state,
      gateway,
      reporter,
      lostLogs,
      confirmations,
      answers,
      note,
    };
  }

  test('that its disk is full, and no longer', async () => {
    const { gateway, answers, state } = await open();
    for (const isFull of [true, false]) {
      state.isDiskFull = isFull;
      gateway.ask({ number: 1, unconfirmed: [], reached: undefined });
      await expect.poll(() => answers.length).toBe(1);
      expect(gateway.isFull(REPLICA)).toBe(isFull);
      answers.length = 0;
    }
  });

  test('a confirmation that was lost is told again to who asks for it', async () => {
    const { gateway, confirmations, note } = await open();
    note(1);
    note(2);
    await expect.poll(() => confirmations.length).toBe(2);
    gateway.ask({ number: 0, unconfirmed: [2, 3], reached: undefined });
    await expect.poll(() => confirmations.length).toBe(3);
    expect(confirmations[2]).toEqual({ request: 2, outcome: OUTCOME });
  });

  test('of a message that is there twice the outcome of the first is told', async () => {
    const { reporter, gateway, confirmations, note } = await open();
    note(1);
    const sender = { gateway: gateway.id, request: 1 };
    reporter.note({ sequence: 2, chain: 5 }, sender, Uint8Array.of(8));
    note(3);
    gateway.ask({ number: 0, unconfirmed: [1], reached: undefined });
    const told = () => confirmations.map(({ request, outcome }) => [request, ...outcome]);
    await expect.poll(told).toEqual([
      [1, ...OUTCOME],
      [3, ...OUTCOME],
      [1, ...OUTCOME],
    ]);
  });

  test('of a log that is given up nothing more is told, not even what was confirmed before', async () => {
    const { gateway, nats, reporter, lostLogs, answers, confirmations, note } = await open();
    note(1);
    await expect.poll(() => confirmations.length).toBe(1);
    note(2);
    reporter.fallSilent();
    lostLogs.loseLog(REPLICA);
    note(3);
    reporter.close();
    gateway.ask({ number: 1, unconfirmed: [], reached: undefined });
    gateway.ask({ number: 0, unconfirmed: [1, 2, 3], reached: undefined });
    await sleep(200);
    await nats.connection.flush();
    expect(gateway.incarnationOf(REPLICA)).toBe(0);
    expect([confirmations.length, answers.length]).toEqual([1, 0]);
  });

  test('a log that is lost is noted durably, and told with all that follows', async () => {
    const {
      gateway,
      nats,
      folder,
      cluster,
      state,
      lostLogs,
      reporter,
      answers,
      confirmations,
      note,
    } = await open();
    let isReplaced = false;
    reporter.onReplaced = () => (isReplaced = true);
    const lose = (replica: number, incarnation: number) =>
      gateway.ask({
        number: 6,
        unconfirmed: [],
        reached: undefined,
        lost: { replica, incarnation },
      });
    const { nats: other } = await openShard(servers());
    const say = async (replica: number, incarnation: number): Promise<void> => {
      const subject = subjects.lost(cluster, SHARD, { replica, incarnation });
      other.subscribe(subject, (_, answer) => answer(new Uint8Array()));
      await other.connection.flush();
    };
    await say(1, 3);
    // The gateway first has it said again that a log is lost.
    const answer = () => {
      lose(1, 3);
      return answers.find(({ number }) => number === 6);
    };
    await expect.poll(answer).toEqual({ number: 6, position: { sequence: 0n, chain: 0 } });
    expect(lostLogs.incarnations).toEqual([0, 3]);
    expect(NodeFile.open(folder, cluster).incarnations).toEqual([0, 3]);
    expect(gateway.incarnationOf(1)).toBe(3);
    expect([...new NodeState(state.memory).incarnations.subarray(0, 3)]).toEqual([0, 3, 0]);
    // An older number, and none at all, change nothing.
    lose(1, 2);
    lose(0, 0);
    note(1);
    await expect.poll(() => confirmations.length).toBe(1);
    expect([0, 1, 2].map((replica) => gateway.incarnationOf(replica))).toEqual([0, 3, 0]);
    expect(isReplaced).toBe(false);
    await say(REPLICA, 1);
    lose(REPLICA, 1);
    await nats.connection.flush();
    await expect.poll(() => isReplaced).toBe(true);
    expect(lostLogs.incarnations).toEqual([0, 3]);
  });

  test('a lost log is noted only if the node that has lost it says so itself', async () => {
    const { cluster, folder, gateway, lostLogs, answers, reporter, nats } = await open();
    let isReplaced = false;
    reporter.onReplaced = () => (isReplaced = true);
    // One that has lost two tells of no third.
    const subject = subjects.lost(cluster, SHARD, { replica: 0, incarnation: 2 });
    nats.subscribe(subject, (_, answer) => answer(new Uint8Array()));
    for (const replica of [0, 1, REPLICA]) {
      const lost = { replica, incarnation: 3 };
      gateway.ask({ number: replica, unconfirmed: [], reached: undefined, lost });
      await sleep(QUIET_MS);
    }
    gateway.ask({ number: 9, unconfirmed: [], reached: undefined });
    await expect.poll(() => answers.map(({ number }) => number)).toEqual([9]);
    expect(lostLogs.incarnations).toEqual([]);
    expect(NodeFile.open(folder, cluster).incarnations).toEqual([]);
    expect(isReplaced).toBe(false);
  });

  test('a lost log of which no gateway tells, or which no replica has, is not noted', async () => {
    const { nats, cluster, folder, gateway, lostLogs, answers } = await open();
    const ask = (from: string, replica: number): void => {
      const lost = { replica, incarnation: 3 };
      const question = { gateway: from, number: 1, unconfirmed: [], reached: undefined, lost };
      nats.send(subjects.questions(cluster, SHARD), Question.encode(question).finish());
    };
    ask('', 1);
    ask('no gateway', 1);
    for (const replica of [7, 2 ** 28, 2 ** 32 - 1]) ask(gateway.id, replica);
    gateway.ask({ number: 9, unconfirmed: [], reached: undefined });
    await expect.poll(() => answers.map(({ number }) => number)).toEqual([9]);
    expect(lostLogs.incarnations).toEqual([]);
    expect(NodeFile.open(folder, cluster).incarnations).toEqual([]);
  });

  test('who cannot note a lost log does not answer, but goes on to hear', async () => {
    const { gateway, folder, lostLogs, answers, nats, cluster } = await open();
    rmSync(folder, { recursive: true });
    const lost = { replica: 1, incarnation: 3 };
    let isAsked = false;
    nats.subscribe(subjects.lost(cluster, SHARD, lost), (_, answer) => {
      isAsked = true;
      answer(new Uint8Array());
    });
    gateway.ask({ number: 8, unconfirmed: [], reached: undefined, lost });
    await expect.poll(() => isAsked).toBe(true);
    gateway.ask({ number: 9, unconfirmed: [], reached: undefined });
    await expect.poll(() => answers.map(({ number }) => number)).toEqual([9]);
    expect(lostLogs.incarnations).toEqual([]);
  });

  test('a position that was asked for is told once the replica has come to it', async () => {
    const { gateway, nats, answers, note } = await open();
    const reached = { sequence: 2n, chain: 0 };
    gateway.ask({ number: 5, unconfirmed: [], reached });
    note(1);
    await nats.connection.flush();
    expect(answers).toEqual([]);
    note(2);
    note(3);
    await expect.poll(() => answers).toEqual([{ number: 5, position: { ...reached, chain: 102 } }]);
  });

  test('confirmations that are too large for one message are told in several', async () => {
    const { gateway, nats, confirmations, note } = await open();
    const most = nats.maxPayload - ENVELOPE_BYTES;
    const outcomes = [most, 1, most / 2, most / 2, 3].map((size) => new Uint8Array(size));
    for (const [at, outcome] of outcomes.entries()) note(at + 1, outcome);
    const sizes = () => confirmations.map(({ outcome }) => outcome.length);
    await expect.poll(sizes).toEqual(outcomes.map(({ length }) => length));
    gateway.ask({ number: 0, unconfirmed: [1, 2, 3, 4, 5], reached: undefined });
    await expect.poll(() => confirmations.length).toBe(10);
  });

  test('nothing is told once the connection is closed', async () => {
    const { nats, note } = await open();
    note(1);
    const closed = nats.close();
    note(2);
    await new Promise(setImmediate);
    await closed;
    note(3);
    await new Promise(setImmediate);
    expect(nats.connection.isClosed()).toBe(true);
  });
});
