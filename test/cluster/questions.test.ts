import { describe, expect, test } from 'vitest';
import { toWirePosition } from '../../src/cluster/voting/outcome.js';
import { Gateway } from '../../src/cluster/voting/gateway.js';
import { Questions } from '../../src/cluster/voting/questions.js';
import { MOST_REPLICAS } from '../../src/config/settings.js';
import { Report } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { createLogger } from '../../src/observe/logger.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { openShard, ownNatsServer, SHARD } from '../support/replicas.js';

const REPLICAS = 3;
const OWN = 0;
const POSITION = { sequence: 7, chain: 70 };

describe.skipIf(HAS_NO_NATS)('questions to the other replicas (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** The questions of the first of three replicas, whose others answer these checksums. */
  async function open(...chains: readonly (number | 'silent' | 'forgotten')[]) {
    const { gateway, replicas } = await openShard(servers());
    replicas.onQuestion = ({ number }) => {
      for (const [at, chain] of chains.entries()) {
        if (chain === 'silent') continue;
        const known = chain === 'forgotten' ? undefined : { ...POSITION, chain };
        const answer = { number, position: known && toWirePosition(known) };
        replicas.tell(gateway.id, at + 1, { answer });
      }
      // The own replica does not count, whatever it answers.
      const own = { number, position: toWirePosition({ ...POSITION, chain: 71 }) };
      replicas.tell(gateway.id, OWN, { answer: own });
    };
    return { gateway, replicas, questions: new Questions(gateway, 2, OWN) };
  }

  test.each([
    ['both others have another history, and the same', [71, 71], true],
    ['both others have the same history', [70, 70], false],
    ['one of the others has the same history', [71, 70], false],
    ['both others have other histories, but not the same', [71, 72], false],
    ['one of the others has forgotten', [71, 'forgotten'], false],
    ['one of the others is silent', [71, 'silent'], false],
  ] as const)('whether %s', { timeout: 20_000 }, async (_, chains, expected) => {
    const { questions } = await open(...chains);
    expect(await questions.differ(POSITION, REPLICAS)).toBe(expected);
  });

  test('of five replicas three with one other history are enough, beside a third history', async () => {
    const { questions } = await open(72, 71, 71, 71);
    expect(await questions.differ(POSITION, 5)).toBe(true);
  });

  test('all positions are those of the replicas that answer in time', async () => {
    const both = await open(70, 71);
    expect(await both.questions.allPositions(REPLICAS)).toHaveLength(2);
    const one = await open(70, 'silent');
    expect(await one.questions.allPositions(REPLICAS)).toEqual([POSITION]);
  }, 20_000);

  test('those that have come to a position with the same history are told', async () => {
    const { questions } = await open(71, 70, 70);
    expect(await questions.reached(POSITION)).toEqual([2, 3]);
  });

  test('a lost log is told to all, who have to answer', { timeout: 20_000 }, async () => {
    const { replicas, questions } = await open(70, 71);
    const lost = { replica: OWN, incarnation: 4 };
    const told = await questions.tellLost(lost);
    expect([...told.keys()]).toEqual([1, 2]);
    expect(replicas.questions[0]?.lost).toEqual(lost);
    const alone = await open(70, 'silent');
    await expect(alone.questions.tellLost(lost)).rejects.toThrow('has not answered');
  });

  test('what a replica has answered before it lost its log is forgotten', async () => {
    const { gateway, replicas, questions } = await open('silent', 'silent');
    replicas.onQuestion = ({ number }) => {
      const answer = { number, position: toWirePosition(POSITION) };
      replicas.tell(gateway.id, 1, { answer });
      // The other one knows that the first has lost its log.
      replicas.tell(gateway.id, 2, { answer, incarnations: [0, 1] });
    };
    await expect(questions.positions()).rejects.toThrow('has not answered');
  }, 20_000);

  test('a lost log of which one report alone tells is not believed, and nobody is replaced', async () => {
    const { gateway, replicas } = await open();
    const questions = new Questions(gateway, 2, OWN, 0);
    let isReplaced = false;
    questions.onReplaced = () => (isReplaced = true);
    let asked = 0;
    replicas.onQuestion = ({ number }) => {
      asked += 1;
      const answer = { number, position: toWirePosition(POSITION) };
      for (const replica of [1, 2]) replicas.tell(gateway.id, replica, { answer });
      // Both have answered this question, and what they have said comes again with a damage.
      replicas.tell(gateway.id, 1, { answer, incarnations: [0, 0, 5] });
    };
    // Which replica it is, with one bit that has flipped: that the first has lost a log.
    const damaged = Report.encode({ ...NO_REPORT, replica: 1 }).finish();
    damaged[0] = (damaged[0] ?? 0) ^ 0x20;
    expect(Report.decode(damaged).incarnations).toEqual([1]);
    for (let time = 0; time < 1_000; time += 1) {
      replicas.send(gateway.id, damaged);
      replicas.tell(gateway.id, 2, { incarnations: [1, 1, 1] });
    }
    expect(await questions.positions()).toEqual([POSITION, POSITION]);
    expect(await questions.reached(POSITION)).toEqual([1, 2]);
    expect(gateway.incarnations).toEqual([]);
    expect(isReplaced).toBe(false);
    // It is asked for at most once at a time.
    expect(asked).toBeLessThan(100);
  });

  test('a lost log is believed that a replica tells of whenever it is asked', async () => {
    const { gateway, replicas } = await open();
    const questions = new Questions(gateway, 2, OWN, 0);
    let isReplaced = false;
    questions.onReplaced = () => (isReplaced = true);
    replicas.onQuestion = ({ number }) => {
      const answer = { number, position: toWirePosition(POSITION) };
      replicas.tell(gateway.id, 1, { answer, incarnations: [1, 0, 7] });
    };
    await expect(questions.positions()).rejects.toThrow('another node has the place');
    expect(gateway.incarnations).toEqual([1, 0, 7].map((number) => number || undefined));
    expect(isReplaced).toBe(true);
  });

  test('reports that cannot be read are one line of the log, however many they are', async () => {
    const { nats, cluster, replicas } = await openShard(servers());
    let log = '';
    const logger = createLogger('info', { write: (line) => void (log += line) });
    const gateway = new Gateway(nats, cluster, SHARD, REPLICAS, logger);
    await nats.connection.flush();
    for (let time = 0; time < 100; time += 1) replicas.send(gateway.id, Buffer.from('{"a":1}'));
    replicas.tell(gateway.id, 1, {});
    await expect.poll(() => gateway.heardSince(0)).toEqual([1]);
    expect(log.split('cannot be read')).toHaveLength(2);
  });

  test('a report of a replica that is none, or of the logs of more replicas, is none', async () => {
    const { gateway, replicas } = await open();
    replicas.tell(gateway.id, MOST_REPLICAS, {});
    replicas.tell(gateway.id, 1, { incarnations: Array(MOST_REPLICAS + 1).fill(0) });
    replicas.tell(gateway.id, 2, { incarnations: Array(MOST_REPLICAS).fill(0) });
    await expect.poll(() => gateway.heardSince(0)).toEqual([2]);
  });
});

const NO_REPORT = {
  isFull: false,
  isClockOff: false,
  strays: 0,
  confirmations: [],
  answer: undefined,
  incarnations: [],
};
