import { randomBytes, randomInt } from 'node:crypto';
import { messageOf } from '../../core/start-error.js';
import {
  Question,
  Report,
  type Answer,
  type Confirmation,
} from '../../gen/vectord/cluster/v1/cluster.js';
import type { Logger } from '../../observe/logger.js';
import type { Nats } from '../nats/nats.js';
import { subjects } from '../nats/subjects.js';

const GATEWAY_BYTES = 8;

/** Replicas are to say again which logs are lost no more often. */
const AGAIN_MS = 100;
/** Nothing else that is asked has such a number. */
const [LEAST_NUMBER, NUMBERS_END] = [2 ** 31, 2 ** 32];

/** A line of the log about a report that cannot be read is followed by the next no sooner. */
const LINE_MS = 10_000;

interface Told {
  /** Whether its disk has hardly any space left. */
  isFull: boolean;
  readonly isClockOff: boolean;
  /** How many messages of the stream it has passed over, as they are of no node. */
  readonly strays: number;
  readonly atMs: number;
}

/** Hears from the replicas of a shard, and asks them. */
export class Gateway {
  /** Names it in messages and questions; another one after each start. */
  readonly id = randomBytes(GATEWAY_BYTES).toString('hex');
  onConfirmation: (replica: number, confirmation: Confirmation) => void = () => undefined;
  onAnswer: (replica: number, answer: Answer) => void = () => undefined;
  /** Are called where a replica has lost its log: what it has told before counts no more. */
  readonly onLost: ((replica: number) => void)[] = [];
  /** How many logs each replica has lost, as far as replicas have told. */
  readonly incarnations: number[] = [];
  /** What each replica last told of itself, and when. */
  readonly #told = new Map<number, Told>();
  /** The question by which replicas are to say again which logs are lost, and which have. */
  #again = { number: newNumber(), heard: new Set<number>() };
  #againAtMs = -Infinity;
  #lineAtMs = -Infinity;

  /**
   * @param replicas how many there are
   * @param known how many lost logs this node knows of: its reads count its replica in the majority
   */
  constructor(
    private readonly nats: Nats,
    private readonly cluster: string,
    private readonly shard: number,
    private readonly replicas: number,
    private readonly logger: Logger,
    private readonly known: Uint32Array = new Uint32Array(),
  ) {
    nats.subscribe(subjects.gateway(cluster, this.id), (bytes) => this.#hear(bytes));
  }

  /** Asks all replicas, or one. */
  ask(question: Omit<Question, 'gateway'>, replica?: number): void {
    const bytes = Question.encode({ ...question, gateway: this.id }).finish();
    this.nats.send(subjects.questions(this.cluster, this.shard, replica), bytes);
  }

  /** How many replicas have said that their disks are full. */
  get fullReplicas(): number {
    return [...this.#told.values()].filter(({ isFull }) => isFull).length;
  }

  /** The replicas that have told something since then. */
  heardSince(timeMs: number): number[] {
    return [...this.#told].flatMap(([replica, { atMs }]) => (atMs >= timeMs ? [replica] : []));
  }

  /** Whether a replica has said so of its disk. */
  isFull(replica: number): boolean {
    return this.#told.get(replica)?.isFull === true;
  }

  /** Whether a replica has said that the clock of its node is wrong. */
  isClockOff(replica: number): boolean {
    return this.#told.get(replica)?.isClockOff === true;
  }

  /** How many messages of the stream a replica has said to have passed over since its start. */
  straysOf(replica: number): number {
    return this.#told.get(replica)?.strays ?? 0;
  }

  /** How many logs a replica has lost, as far as replicas have told. */
  incarnationOf(replica: number): number {
    return this.incarnations[replica] ?? 0;
  }

  #noteLost(replica: number, incarnation: number): void {
    if (incarnation <= this.incarnationOf(replica)) return;
    this.incarnations[replica] = incarnation;
    const told = this.#told.get(replica);
    if (told !== undefined) told.isFull = false;
    for (const hear of this.onLost) hear(replica);
  }

  /**
   * A replica notes a lost log only if the node that has the place says so itself, see Reporter; that node
   * says it no more once it has another log. So who hears of one has the replicas say it again, as the
   * answer to a question of which nobody else knows the number: a garbled or repeated report would have
   * all ignored that a healthy replica tells. Until then the report is as if it was lost: it must not
   * count beside what the lost log has confirmed.
   */
  #haveSaidAgain(replica: number): void {
    const nowMs = performance.now();
    if (nowMs - this.#againAtMs < AGAIN_MS) return;
    this.#againAtMs = nowMs;
    if (this.#again.heard.has(replica)) this.#again = { number: newNumber(), heard: new Set() };
    this.ask({ number: this.#again.number, reached: undefined, unconfirmed: [] });
  }

  /** Once for each replica and question: a report may come again, and other than it was. */
  #isSaidAgain(replica: number, answer: Answer | undefined): boolean {
    const { number, heard } = this.#again;
    if (answer?.number !== number || heard.has(replica)) return false;
    heard.add(replica);
    return true;
  }

  #onUnreadable(reason: string): void {
    if (performance.now() - this.#lineAtMs < LINE_MS) return;
    this.#lineAtMs = performance.now();
    this.logger.error(
      { reason },
      'a report that is sent to this node cannot be read: run one version of vectord on all nodes, and ' +
        'see who may publish there',
    );
  }

  #hear(bytes: Uint8Array): void {
    let report: Report;
    try {
      report = Report.decode(bytes);
    } catch (error) {
      return this.#onUnreadable(messageOf(error));
    }
    const { replica, isFull, isClockOff, strays, confirmations, answer, incarnations } = report;
    if (replica >= this.replicas || incarnations.length > this.replicas) return;
    this.known.forEach((incarnation, lost) => this.#noteLost(lost, incarnation));
    const isNews = incarnations.some((number, lost) => number > this.incarnationOf(lost));
    if (!this.#isSaidAgain(replica, answer) && isNews) return this.#haveSaidAgain(replica);
    incarnations.forEach((incarnation, lost) => this.#noteLost(lost, incarnation));
    if ((incarnations[replica] ?? 0) < this.incarnationOf(replica)) return;
    this.#told.set(replica, { isFull, isClockOff, strays, atMs: performance.now() });
    for (const confirmation of confirmations) this.onConfirmation(replica, confirmation);
    if (answer !== undefined) this.onAnswer(replica, answer);
  }
}

function newNumber(): number {
  return randomInt(LEAST_NUMBER, NUMBERS_END);
}
