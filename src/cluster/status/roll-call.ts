import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamPosition } from '../../engine/native.js';
import type { Logger } from '../../observe/logger.js';
import { Gateway } from '../voting/gateway.js';
import type { Nats } from '../nats/nats.js';
import { fromWirePosition, toWirePosition } from '../voting/outcome.js';
import type { History, ReplicaAnswer } from './model.js';

/** How long a replica may take to answer, and to apply what the stream had before it was asked. */
const LONGEST_MS = 2_000;
const AGAIN_MS = 100;

/** Answers by replica; undefined if it does not remember the position. */
type Answers = Map<number, StreamPosition | undefined>;

/** Asks each replica of a shard where it is, and waits for all, but at most two seconds. */
export class RollCall {
  readonly #gateway: Gateway;
  readonly #asked = new Map<number, Answers>();

  constructor(
    nats: Nats,
    cluster: string,
    shard: number,
    private readonly replicas: number,
    logger: Logger,
  ) {
    this.#gateway = new Gateway(nats, cluster, shard, replicas, logger);
    this.#gateway.onAnswer = (replica, { number, position }) =>
      this.#asked.get(number)?.set(replica, position && fromWirePosition(position));
  }

  /** The answers of those that answer; `last` is the message that they should have applied. */
  async call(last: number): Promise<Map<number, ReplicaAnswer>> {
    const isThere = (position: StreamPosition | undefined) => (position?.sequence ?? -1) >= last;
    const found = await this.#ask(undefined, (answers) => {
      return answers.size === this.replicas && [...answers.values()].every(isThere);
    });
    const positions = [...found].flatMap(([replica, position]) =>
      position === undefined ? [] : [{ replica, ...position }],
    );
    // All are asked for their checksum at the position of each: equal ones are equal histories.
    const looks = positions.map(async (position) => {
      const others = positions.filter(({ sequence }) => sequence >= position.sequence);
      const isAnswered = (answers: Answers) => others.every(({ replica }) => answers.has(replica));
      return [position.replica, await this.#ask(position, isAnswered)] as const;
    });
    const there = new Map(await Promise.all(looks));
    return new Map(
      positions.map((position) => {
        const { replica, sequence } = position;
        const lacks = Math.max(0, last - sequence);
        const history = historyOf(position, positions, there);
        const isFull = this.#gateway.isFull(replica);
        const isClockOff = this.#gateway.isClockOff(replica);
        const strays = this.#gateway.straysOf(replica);
        return [replica, { sequence, lacks, history, isFull, isClockOff, strays }];
      }),
    );
  }

  async #ask(
    reached: StreamPosition | undefined,
    isEnough: (answers: Answers) => boolean,
  ): Promise<Answers> {
    const answers: Answers = new Map();
    const number = this.#asked.size + 1;
    this.#asked.set(number, answers);
    const endsAtMs = performance.now() + LONGEST_MS;
    while (!isEnough(answers) && performance.now() < endsAtMs) {
      this.#gateway.ask({ number, reached: reached && toWirePosition(reached), unconfirmed: [] });
      await sleep(AGAIN_MS);
    }
    return answers;
  }
}

interface Place extends StreamPosition {
  readonly replica: number;
}

/** By the answers `there` of all replicas at the position of each. */
function historyOf(
  own: Place,
  places: readonly Place[],
  there: ReadonlyMap<number, Answers>,
): History {
  let same = 0;
  let differ = 0;
  for (const other of places.filter(({ replica }) => replica !== own.replica)) {
    const [low, high] = own.sequence <= other.sequence ? [own, other] : [other, own];
    const answer = there.get(low.replica)?.get(high.replica);
    if (answer === undefined) continue;
    if (answer.chain === low.chain) same += 1;
    else differ += 1;
  }
  if (differ > same) return 'other';
  return same > 0 ? 'same' : 'unknown';
}
