/** How the replica of a node is, as its loops see it. */
export const ReplicaState = { Following: 0, Behind: 1, Stopped: 2 } as const;
export type ReplicaState = (typeof ReplicaState)[keyof typeof ReplicaState];

/** What the event loops of a node tell each other, in memory that all have. */
export class NodeState {
  readonly #acknowledged: BigInt64Array;
  readonly #replica: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(16)) {
    this.#acknowledged = new BigInt64Array(memory, 0, 1);
    this.#replica = new Int32Array(memory, 8, 1);
  }

  /** The greatest sequence of a message that a loop of this node has acknowledged. */
  get acknowledged(): number {
    return Number(Atomics.load(this.#acknowledged, 0));
  }

  acknowledge(sequence: number): void {
    const raised = BigInt(sequence);
    let known = Atomics.load(this.#acknowledged, 0);
    while (known < raised) {
      const found = Atomics.compareExchange(this.#acknowledged, 0, known, raised);
      if (found === known) return;
      known = found;
    }
  }

  get replica(): ReplicaState {
    return Atomics.load(this.#replica, 0) as ReplicaState;
  }

  set replica(state: ReplicaState) {
    Atomics.store(this.#replica, 0, state);
  }
}
