import { VectordError } from '../core/errors.js';
import type { StreamPosition } from '../engine/native.js';
import type { Answer } from '../gen/vectord/cluster/v1/cluster.js';
import { deferred, type Deferred } from './deferred.js';
import type { Gateway } from './gateway.js';
import { fromWirePosition, toWirePosition } from './outcome.js';

/** A question that too few replicas have answered is asked again. */
const AGAIN_MS = 100;
/** A read takes no longer to find a majority. */
const LONGEST_MS = 5_000;

interface Asked {
  /** Undefined where the replica does not remember the position that it was asked for. */
  readonly answers: Map<number, StreamPosition | undefined>;
  readonly isAnswered: (positions: readonly (StreamPosition | undefined)[]) => boolean;
  readonly settled: Deferred<void>;
}

/** Asks the replicas of a shard where they are. The replica of this node is not waited for. */
export class Questions {
  readonly #asked = new Map<number, Asked>();
  #last = 0;
  /** The replica that has answered last: where one is enough, it is asked first, alone. */
  #prompt: number | undefined;

  /**
   * @param others how many other replicas have to answer
   * @param own the place of this node's replica in their list
   */
  constructor(
    private readonly gateway: Gateway,
    private readonly others: number,
    private readonly own: number,
  ) {
    gateway.onAnswer = (replica, answer) => this.#hear(replica, answer);
  }

  /** The positions of other replicas, each told after this call. */
  async positions(): Promise<StreamPosition[]> {
    const positions = await this.#ask(undefined, (answers) => answers.length >= this.others);
    return positions.filter((position) => position !== undefined);
  }

  /** Resolves once enough other replicas have come to a position with the same history. */
  async reached(position: StreamPosition): Promise<void> {
    const isSame = (answer: StreamPosition | undefined) =>
      answer?.sequence === position.sequence && answer.chain === position.chain;
    await this.#ask(position, (answers) => answers.filter(isSame).length >= this.others);
  }

  async #ask(
    reached: StreamPosition | undefined,
    isAnswered: Asked['isAnswered'],
  ): Promise<(StreamPosition | undefined)[]> {
    if (this.others === 0) return [];
    const asked: Asked = { answers: new Map(), isAnswered, settled: deferred() };
    this.#last = (this.#last + 1) >>> 0;
    const number = this.#last;
    this.#asked.set(number, asked);
    const question = { number, reached: reached && toWirePosition(reached), unconfirmed: [] };
    const ask = (): void => this.gateway.ask(question);
    const again = setInterval(ask, AGAIN_MS);
    const giveUp = setTimeout(() => {
      asked.settled.reject(reached === undefined ? noMajority() : notHeld());
    }, LONGEST_MS);
    this.gateway.ask(
      question,
      reached === undefined && this.others === 1 ? this.#prompt : undefined,
    );
    try {
      await asked.settled.promise;
      return [...asked.answers.values()];
    } finally {
      clearInterval(again);
      clearTimeout(giveUp);
      this.#asked.delete(number);
    }
  }

  #hear(replica: number, { number, position }: Answer): void {
    const asked = this.#asked.get(number);
    if (asked === undefined || replica === this.own) return;
    this.#prompt = replica;
    asked.answers.set(replica, position && fromWirePosition(position));
    if (asked.isAnswered([...asked.answers.values()])) asked.settled.resolve();
  }
}

function notHeld(): VectordError {
  return new VectordError(
    'UNAVAILABLE',
    `no majority of the replicas has confirmed within ${LONGEST_MS / 1_000} s what this node has read: ` +
      'try again, or on another node',
  );
}

function noMajority(): VectordError {
  return new VectordError(
    'UNAVAILABLE',
    `a majority of the replicas has not answered within ${LONGEST_MS / 1_000} s: try again, or on ` +
      'another node',
  );
}
