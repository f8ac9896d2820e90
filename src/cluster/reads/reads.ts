import type { Soon } from '../../core/points.js';
import type { Engine, StreamPosition } from '../../engine/native.js';
import type { NodeState } from '../voting/node-state.js';
import type { Questions } from '../voting/questions.js';
import { ReplicaFault } from './replica-reads.js';
import { Rounds } from './rounds.js';
import { Waits } from './waits.js';

/** What a read is to see, see CLUSTER_READS. */
export type ReadMode = 'strong' | 'session';

/** A read waits no longer for the replica of its node, and less where others can be asked. */
const LONGEST_MS = 5_000;
export const LONGEST_BEFORE_OTHERS_MS = 2_000;
const PAUSE_MS = 1;

/**
 * The reads of one event loop, answered by the replica of the node.
 *
 * A strong read sees every write that was acknowledged before it began, through whichever node, and
 * nothing that a later read might not see. It is a quorum read as of Charapko, Ailijiang and Demirbas,
 * "Linearizable Quorum Reads in Paxos" (HotStorage 2019): it waits for the greatest position of a
 * majority, reads, and waits until a majority is as far as what it has read.
 *
 * A read of a session sees every write that this node has acknowledged. The first one of an event loop
 * is a strong one, as the node may have acknowledged writes before it was started.
 */
export class Reads {
  readonly #targets: Rounds<number>;
  readonly #looks: Rounds<void>;
  /** Reads that wait for the replica of this node: for what it has, and for what it knows that it has. */
  readonly #catchUps: Waits;
  readonly #applications: Waits;
  /** A majority of the replicas has come so far, with the history of this node, if any is known to. */
  #held: number | undefined;

  /** @param patienceMs for how long a read waits for the replica */
  constructor(
    private readonly engine: Engine,
    private readonly questions: Questions,
    private readonly state: NodeState,
    private readonly mode: ReadMode,
    private readonly patienceMs = LONGEST_MS,
  ) {
    this.#targets = new Rounds(async () => await this.#greatest(), PAUSE_MS);
    this.#looks = new Rounds(async () => await this.#look(), PAUSE_MS);
    this.#catchUps = new Waits(() => engine.position.sequence);
    this.#applications = new Waits(() => state.applied.last.sequence);
  }

  /** The answer of a read. Throws a VectordError with UNAVAILABLE where it cannot see enough. */
  async read<Answer>(act: () => Soon<Answer>): Promise<Answer> {
    // After a start the node does not know what it has acknowledged before.
    const isKnown = this.mode === 'session' && this.#held !== undefined;
    return await this.readAfter(isKnown ? this.state.acknowledged.last : undefined, act);
  }

  /** The answer of a read that sees what was acknowledged up to a position; of a strong one without it. */
  async readAfter<Answer>(
    position: StreamPosition | undefined,
    act: () => Soon<Answer>,
  ): Promise<Answer> {
    if (position !== undefined && (await this.#has(position))) return await act();
    await this.#catchUp(this.#catchUps, await this.#targets.join());
    // That there is no such point is an answer as well.
    const answered = await settle(act);
    if (this.engine.horizon.sequence > (this.#held ?? -1)) await this.#looks.join();
    return answered();
  }

  /** Waits until the replica has come to a position. False where it does not remember its history there. */
  async #has({ sequence, chain }: StreamPosition): Promise<boolean> {
    await this.#catchUp(this.#applications, sequence);
    const own = this.state.applied.at(sequence);
    if (own !== undefined && own.chain !== chain) throw otherHistory();
    return own !== undefined;
  }

  /** A position that a majority has come to, at or behind all that was read. */
  get held(): StreamPosition {
    return this.state.acknowledged.last;
  }

  /** The greatest position of a majority. */
  async #greatest(): Promise<number> {
    const own = this.engine.position;
    const others = await this.questions.positions();
    // Equal checksums are equal histories: what was read up to there needs no second look.
    const isOwn = (other: typeof own) =>
      other.sequence === own.sequence && other.chain === own.chain;
    if (others.every(isOwn)) this.#hold(own);
    return Math.max(own.sequence, ...others.map(({ sequence }) => sequence));
  }

  async #look(): Promise<void> {
    const horizon = this.engine.horizon;
    await this.questions.reached(horizon);
    this.#hold(horizon);
  }

  #hold(position: StreamPosition): void {
    this.#held = Math.max(this.#held ?? 0, position.sequence);
    // What the node may have acknowledged before it was started is in there.
    this.state.acknowledged.note(position);
  }

  /** Waits until the replica of this node has come to a position. */
  async #catchUp(waits: Waits, sequence: number): Promise<void> {
    const missing = await waits.until(sequence, this.patienceMs);
    if (missing > 0) throw behind(missing);
  }
}

/** Acts, and answers what gives the answer or throws the error. */
async function settle<Answer>(act: () => Soon<Answer>): Promise<() => Answer> {
  try {
    const answer = await act();
    return () => answer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function otherHistory(): ReplicaFault {
  return new ReplicaFault(
    'the replica of this node has another history than those that acknowledged its writes: ask another ' +
      'node, and see the log of this one',
  );
}

function behind(messages: number): ReplicaFault {
  return new ReplicaFault(
    `the replica of this node lacks ${messages} messages of its stream: try again, or on another node`,
  );
}
