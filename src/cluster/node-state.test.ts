import { expect, test } from 'vitest';
import { NodeState, ReplicaState } from './node-state.js';

test('the loops of a node see the greatest sequence that one has acknowledged', () => {
  const state = new NodeState();
  const other = new NodeState(state.memory);
  expect(other.acknowledged).toBe(0);
  state.acknowledge(2 ** 40);
  expect(other.acknowledged).toBe(2 ** 40);
  other.acknowledge(7);
  expect(state.acknowledged).toBe(2 ** 40);
});

test('the loops of a node see how its replica is', () => {
  const state = new NodeState();
  const other = new NodeState(state.memory);
  for (const replica of Object.values(ReplicaState)) {
    state.replica = replica;
    expect(other.replica).toBe(replica);
  }
  expect(other.acknowledged).toBe(0);
});
