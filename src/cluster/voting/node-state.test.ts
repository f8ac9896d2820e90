import { expect, test } from 'vitest';
import { NodeState, ReplicaState } from './node-state.js';

test('the loops of a node see what one has acknowledged, and what the replica has applied', () => {
  const state = new NodeState();
  const other = new NodeState(state.memory);
  other.acknowledged.note({ sequence: 2, chain: 5 });
  state.applied.note({ sequence: 1, chain: 4 });
  expect(state.acknowledged.last).toEqual({ sequence: 2, chain: 5 });
  expect(other.applied.last).toEqual({ sequence: 1, chain: 4 });
});

test('the loops of a node see how its replica is', () => {
  const state = new NodeState();
  const other = new NodeState(state.memory);
  for (const replica of Object.values(ReplicaState)) {
    state.replica = replica;
    expect(other.replica).toBe(replica);
  }
  expect(other.acknowledged.last).toEqual({ sequence: 0, chain: 0 });
});
