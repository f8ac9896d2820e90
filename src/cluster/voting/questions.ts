import { VectordError } from '../../core/errors.js';
import type { StreamPosition } from '../../engine/native.js';
import type { Answer, Lost } from '../../gen/vectord/cluster/v1/cluster.js';
import { deferred, type Deferred } from '../../core/deferred.js';
import type { Gateway } from './gateway.js';
import { fromWirePosition, toWirePosition } from './outcome.js';
import { majorityOf } from './quorum.js';

/** A question that too few replicas have answered is asked again. */
const AGAIN_MS = 100;
/** Answers are waited for no longer than this. */
const LONGEST_MS = 5_000;

/** By replica; undefined where it does not remember the position that it was asked for. */
type Answers = ReadonlyMap<number, StreamPosition | undefined>;

/** What is asked; if nothing, where the replicas are. */
interface About {
  readonly reached?: StreamPosition;
  readonly lost?: Lost;
  /** The answers that have come in time are taken. */
  readonly isPartial?: boolean;
}

interface Asked {
  readonly answers: Map<number, StreamPosition | undefined>;
  readonly isAnswered: (answers: Answers) => boolean;
  readonly settled: Deferred<Answers>;
}

/** Asks the replicas of a shard where they are. The replica of this node is not waited for. */
export class Questions {
  readonly #asked = new Map<number, Asked>();
  #last = 0;
  /** The replica that answered last: if one answer is enough, it alone is asked first. */
  #prompt: number | undefined;
  /** Is called where another node has the place of this one. */
  onReplaced: () => void = () => undefined;

  /**
   * @param others how many other replicas have to answer
   * @param own the place of this node's replica in their list
   * @param incarnation how many logs it has lost: if others know of more, another node has its place
   */
  constructor(
    private readonly gateway: Gateway,
    private readonly others: number,
    private readonly own: number,
    private readonly incarnation = Infinity,
  ) {
    gateway.onAnswer = (replica, answer) => this.#hear(replica, answer);
    gateway.onLost.push((replica) => {
      for (const { answers } of this.#asked.values()) answers.delete(replica);
    });
  }

  /** The positions of other replicas, each told after this call. */
  async positions(): Promise<StreamPosition[]> {
    return [...(await this.#positions({})).values()];
  }

  /** The positions of those other replicas that answer in time. Takes long where one does not. */
  async allPositions(replicas: number): Promise<StreamPosition[]> {
    return [...(await this.#positions({ isPartial: true }, replicas - 1)).values()];
  }

  /** How far other replicas can be read, by replica, once they have noted that one has lost its log. */
  async tellLost(lost: Lost): Promise<Map<number, StreamPosition>> {
    return await this.#positions({ lost });
  }

  /** How many logs each replica has lost, as far as replicas have told. */
  get incarnations(): readonly number[] {
    return this.gateway.incarnations;
  }

  /**
   * Whether a majority of the replicas have come to this position with another history, the same in all
   * of them. False where that cannot be told.
   */
  async differ(position: StreamPosition, replicas: number): Promise<boolean> {
    const otherChains = (answers: Answers) =>
      [...answers.values()].flatMap((answer) =>
        answer === undefined || answer.chain === position.chain ? [] : [answer.chain],
      );
    const isOther = (answers: Answers) => {
      const chains = otherChains(answers);
      const alike = chains.map((chain) => chains.filter((other) => other === chain).length);
      return Math.max(0, ...alike) >= majorityOf(replicas);
    };
    const isAnswered = (answers: Answers) => {
      const unlike = otherChains(answers).length;
      const unasked = replicas - 1 - answers.size;
      return isOther(answers) || unlike + unasked < majorityOf(replicas);
    };
    try {
      return isOther(await this.#ask({ reached: position }, isAnswered));
    } catch {
      return false;
    }
  }

  /** Resolves, with those, once enough other replicas have come to a position with the same history. */
  async reached(position: StreamPosition): Promise<number[]> {
    const isSame = (answer: StreamPosition | undefined) =>
      answer?.sequence === position.sequence && answer.chain === position.chain;
    const those = (answers: Answers) =>
      [...answers].filter(([, answer]) => isSame(answer)).map(([replica]) => replica);
    const isAnswered = (answers: Answers) => those(answers).length >= this.others;
    return those(await this.#ask({ reached: position }, isAnswered));
  }

  async #positions(about: About, others = this.others): Promise<Map<number, StreamPosition>> {
    const answers = await this.#ask(about, ({ size }) => size >= others);
    const known = [...answers].filter((pair): pair is [number, StreamPosition] => !!pair[1]);
    return new Map(known);
  }

  async #ask(about: About, isAnswered: Asked['isAnswered']): Promise<Answers> {
    const { reached, lost, isPartial } = about;
    if (this.others === 0) return new Map();
    const asked: Asked = { answers: new Map(), isAnswered, settled: deferred() };
    this.#last = (this.#last + 1) >>> 0;
    const number = this.#last;
    this.#asked.set(number, asked);
    const question = { number, reached: reached && toWirePosition(reached), lost, unconfirmed: [] };
    const ask = (): void => this.gateway.ask(question);
    const again = setInterval(ask, AGAIN_MS);
    const giveUp = setTimeout(() => {
      if (isPartial) asked.settled.resolve(new Map(asked.answers));
      else asked.settled.reject(reached === undefined ? noMajority() : notHeld());
    }, LONGEST_MS);
    const isForOne = Object.keys(about).length === 0 && this.others === 1;
    this.gateway.ask(question, isForOne ? this.#prompt : undefined);
    try {
      return await asked.settled.promise;
    } finally {
      clearInterval(again);
      clearTimeout(giveUp);
      this.#asked.delete(number);
    }
  }

  #hear(replica: number, { number, position }: Answer): void {
    const asked = this.#asked.get(number);
    if (asked === undefined || replica === this.own) return;
    if (this.gateway.incarnationOf(this.own) > this.incarnation) {
      this.onReplaced();
      asked.settled.reject(replaced());
    }
    this.#prompt = replica;
    asked.answers.set(replica, position && fromWirePosition(position));
    if (asked.isAnswered(asked.answers)) asked.settled.resolve(new Map(asked.answers));
  }
}

function replaced(): VectordError {
  return new VectordError(
    'UNAVAILABLE',
    'another node has the place of this one in the cluster: ask another node, and stop this one for good',
  );
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
