import { MOST_REPLICAS } from '../../config/settings.js';
import { Positions } from './positions.js';

/** How the replica of a node is, as its loops see it. */
export const ReplicaState = { Following: 0, Behind: 1, Stopped: 2 } as const;
export type ReplicaState = (typeof ReplicaState)[keyof typeof ReplicaState];

/** The memory of a node that all its event loops have. */
export interface NodeMemory {
  readonly numbers: SharedArrayBuffer;
  readonly applied: SharedArrayBuffer;
  readonly acknowledged: SharedArrayBuffer;
  readonly incarnations: SharedArrayBuffer;
}

const [REPLICA, CLOCK, DISK] = [0, 1, 2] as const;

const MOST_OFF_MS = 2 ** 31 - 1;

/** What the event loops of a node tell each other. */
export class NodeState {
  /** Where its replica is, and was. */
  readonly applied: Positions;
  /** What its loops have acknowledged, or found to be held by a majority: the last of it counts. */
  readonly acknowledged: Positions;
  /** How many logs each replica has lost, as far as the replica of the node knows. */
  readonly incarnations: Uint32Array;
  /** The state of the replica, how far the clock of the node is off, and whether its disk is full. */
  readonly #numbers: Int32Array;

  constructor(memory?: NodeMemory) {
    this.applied = new Positions(memory?.applied);
    this.acknowledged = new Positions(memory?.acknowledged);
    this.incarnations = new Uint32Array(
      memory?.incarnations ?? new SharedArrayBuffer(4 * MOST_REPLICAS),
    );
    this.#numbers = new Int32Array(memory?.numbers ?? new SharedArrayBuffer(12));
  }

  get memory(): NodeMemory {
    return {
      numbers: this.#numbers.buffer as SharedArrayBuffer,
      applied: this.applied.memory,
      acknowledged: this.acknowledged.memory,
      incarnations: this.incarnations.buffer as SharedArrayBuffer,
    };
  }

  get replica(): ReplicaState {
    return Atomics.load(this.#numbers, REPLICA) as ReplicaState;
  }

  set replica(state: ReplicaState) {
    Atomics.store(this.#numbers, REPLICA, state);
  }

  /** How far the clock of the node is ahead of that of the NATS servers; at most 24 days are noted. */
  get clockOffMs(): number {
    return Atomics.load(this.#numbers, CLOCK);
  }

  set clockOffMs(offMs: number) {
    Atomics.store(this.#numbers, CLOCK, Math.max(-MOST_OFF_MS, Math.min(offMs, MOST_OFF_MS)));
  }
  /** Whether the disk of the node has hardly any space left. */
  get isDiskFull(): boolean {
    return Atomics.load(this.#numbers, DISK) === 1;
  }

  set isDiskFull(isFull: boolean) {
    Atomics.store(this.#numbers, DISK, Number(isFull));
  }
}
