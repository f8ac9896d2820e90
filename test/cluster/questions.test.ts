import { describe, expect, test } from 'vitest';
import { toWirePosition } from '../../src/cluster/voting/outcome.js';
import { Questions } from '../../src/cluster/voting/questions.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { openShard, ownNatsServer } from '../support/replicas.js';

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
});
