import { describe, expect, test } from 'vitest';
import { toWirePosition } from '../../src/cluster/voting/outcome.js';
import { RollCall } from '../../src/cluster/status/roll-call.js';
import type { StreamPosition } from '../../src/engine/native.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { openShard, ownNatsServer, SHARD, SILENT } from '../support/replicas.js';

describe.skipIf(HAS_NO_NATS)('a call of all replicas (needs nats-server)', () => {
  const servers = ownNatsServer();

  /** Calls replicas that remember these positions, of which each has come to the last one. */
  async function call(
    last: number,
    replicas: readonly (readonly StreamPosition[])[],
    full: readonly number[] = [],
  ) {
    const shard = await openShard(servers());
    shard.replicas.onQuestion = ({ gateway, number, reached }) => {
      for (const [replica, positions] of replicas.entries()) {
        const end = positions.at(-1);
        const sequence = reached === undefined ? end?.sequence : Number(reached.sequence);
        if (end === undefined || sequence === undefined || sequence > end.sequence) continue;
        const found = positions.find((position) => position.sequence === sequence);
        const answer = { number, position: found && toWirePosition(found) };
        shard.replicas.tell(gateway, replica, { answer, isFull: full.includes(replica) });
      }
    };
    const rollCall = new RollCall(shard.nats, shard.cluster, SHARD, replicas.length, SILENT);
    return Object.fromEntries(await rollCall.call(last));
  }

  const at = (sequence: number, chain: number): StreamPosition => ({ sequence, chain });

  test('compares each with the others where both have been', async () => {
    const early = [at(4, 40)];
    const late = [at(4, 40), at(5, 50), at(6, 60)];
    const other = [at(4, 41), at(5, 51)];
    expect(await call(5, [early, late, other], [2])).toEqual({
      0: { sequence: 4, lacks: 1, history: 'same', isFull: false, isClockOff: false, strays: 0 },
      1: { sequence: 6, lacks: 0, history: 'same', isFull: false, isClockOff: false, strays: 0 },
      2: { sequence: 5, lacks: 0, history: 'other', isFull: true, isClockOff: false, strays: 0 },
    });
  });

  test('says of two that differ that both have another history than the other', async () => {
    const found = await call(4, [[at(4, 40)], [at(4, 41)], []]);
    expect(found).toEqual({
      0: expect.objectContaining({ history: 'other' }),
      1: expect.objectContaining({ history: 'other' }),
    });
  });

  test('does not know of one that nobody remembers', async () => {
    const found = await call(6, [[at(2, 20)], [at(6, 60)], [at(6, 60)]]);
    expect(found).toEqual({
      0: { sequence: 2, lacks: 4, history: 'unknown', isFull: false, isClockOff: false, strays: 0 },
      1: { sequence: 6, lacks: 0, history: 'same', isFull: false, isClockOff: false, strays: 0 },
      2: { sequence: 6, lacks: 0, history: 'same', isFull: false, isClockOff: false, strays: 0 },
    });
  });
});
