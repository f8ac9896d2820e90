import { MOST_REPLICAS } from '../../config/settings.js';
import type { Engine, StreamPosition } from '../../engine/native.js';
import {
  Question,
  Report,
  type Answer,
  type Confirmation,
  type Lost,
} from '../../gen/vectord/cluster/v1/cluster.js';
import type { Nats } from '../nats/nats.js';
import type { NodeState } from '../voting/node-state.js';
import { fromWirePosition, toWirePosition } from '../voting/outcome.js';
import { subjects } from '../nats/subjects.js';
import { ENVELOPE_BYTES, isClockOff, isGateway, type Sender } from '../nats/message.js';

/** Confirmations that are kept for gateways that did not get them. */
const KEPT = 16_384;
const KEPT_BYTES = 16 * 1024 * 1024;

/** What a confirmation takes in a report besides its outcome, at most. */
const CONFIRMATION_BYTES = 32;

/** A question that waits for the replica is given up after this time: the gateway asks again. */
const WAITING_MS = 5_000;

const NOTHING = new Uint8Array();

interface Waiting {
  readonly gateway: string;
  readonly number: number;
  readonly sequence: number;
  readonly sinceMs: number;
}

/** A replica, by its place in the list of the replicas of its shard. */
export interface ReplicaPlace {
  readonly cluster: string;
  readonly shard: number;
  readonly replica: number;
}

/** What a node knows of the logs that replicas have lost. */
export interface LostLogs {
  /** How many each replica has lost. */
  readonly incarnations: readonly number[];
  /** Notes durably how many logs a replica has lost. */
  raise(replica: number, incarnation: number): void;
}

/** What a replica tells the gateways of all nodes. */
export class Reporter {
  /** Confirmations of the last messages, by gateway and request, oldest first. */
  readonly #kept = new Map<string, Confirmation>();
  #keptBytes = 0;
  /** What is to be sent once the loop has done what is at hand. */
  #unsent = new Map<string, Confirmation[]>();
  /** Questions that wait until the replica has come so far, by gateway and number. */
  readonly #waiting = new Map<string, Waiting>();
  /** How many messages of the stream were of no node, since the start. */
  #strays = 0;
  #isSilent = false;
  #isAskingBack = false;
  /** Is called where another node has the place of this one. */
  onReplaced: () => void = () => undefined;

  constructor(
    private readonly nats: Nats,
    private readonly engine: Engine,
    private readonly place: ReplicaPlace,
    private readonly state: NodeState,
    private readonly lostLogs: LostLogs,
  ) {
    state.applied.begin(engine.position);
    state.incarnations.set(lostLogs.incarnations);
    const { cluster, shard, replica } = place;
    for (const asked of [undefined, replica]) {
      nats.subscribe(subjects.questions(cluster, shard, asked), (bytes) => this.#read(bytes));
    }
  }

  /** Notes that the replica has come to a position, with the message of a sender if it had one. */
  note(position: StreamPosition, sender: Sender | undefined, outcome: Uint8Array): void {
    this.state.applied.note(position);
    if (sender !== undefined) this.#confirm(sender, outcome);
    if (this.#waiting.size > 0) this.#answerWaiting();
  }

  noteStray(): void {
    this.#strays += 1;
  }

  /** Tells nothing more: with the next number, what is told of a log that is given up would count. */
  fallSilent(): void {
    this.#isSilent = true;
  }

  /** What was confirmed last is sent still. */
  close(): void {
    this.#flush();
  }

  #confirm({ gateway, request }: Sender, outcome: Uint8Array): void {
    const confirmation: Confirmation = { request, outcome };
    const key = keyOf(gateway, request);
    // A message that is there twice has one outcome, that of the first.
    if (this.#kept.has(key)) return;
    this.#kept.set(key, confirmation);
    this.#keptBytes += outcome.length;
    this.#forget();
    this.#send(gateway, confirmation);
  }

  #forget(): void {
    for (const [key, { outcome }] of this.#kept) {
      if (this.#kept.size <= KEPT && this.#keptBytes <= KEPT_BYTES) return;
      this.#kept.delete(key);
      this.#keptBytes -= outcome.length;
    }
  }

  /** Those of one group of the log come one right after the other, and go out together. */
  #send(gateway: string, confirmation: Confirmation): void {
    if (this.#unsent.size === 0) setImmediate(() => this.#flush());
    const list = this.#unsent.get(gateway);
    if (list === undefined) this.#unsent.set(gateway, [confirmation]);
    else list.push(confirmation);
  }

  #flush(): void {
    const unsent = this.#unsent;
    this.#unsent = new Map();
    for (const [gateway, confirmations] of unsent) this.#reportAll(gateway, confirmations);
  }

  /** Tells confirmations in as many messages as they take. */
  #reportAll(gateway: string, confirmations: readonly Confirmation[]): void {
    const most = this.nats.maxPayload - ENVELOPE_BYTES;
    let part: Confirmation[] = [];
    let bytes = 0;
    for (const confirmation of confirmations) {
      const more = CONFIRMATION_BYTES + confirmation.outcome.length;
      if (part.length > 0 && bytes + more > most) {
        this.#report(gateway, part, undefined);
        part = [];
        bytes = 0;
      }
      part.push(confirmation);
      bytes += more;
    }
    // Without any it still tells whether the disk is full.
    this.#report(gateway, part, undefined);
  }

  #report(gateway: string, confirmations: Confirmation[], answer: Answer | undefined): void {
    if (this.#isSilent) return;
    const { cluster, replica } = this.place;
    const incarnations = [...this.lostLogs.incarnations];
    const report: Report = {
      replica,
      isFull: this.state.isDiskFull,
      isClockOff: isClockOff(this.state.clockOffMs),
      confirmations,
      answer,
      incarnations,
      strays: this.#strays,
    };
    const subject = subjects.gateway(cluster, gateway);
    this.nats.send(subject, Report.encode(report).finish());
  }

  /** What cannot be read is not from a gateway, nor is what names none: other bytes often can be read. */
  #read(bytes: Uint8Array): void {
    let question: Question;
    try {
      question = Question.decode(bytes);
    } catch {
      return;
    }
    if (isGateway(question.gateway)) this.#hear(question);
  }

  #hear({ gateway, number, reached, lost, unconfirmed }: Question): void {
    if (lost !== undefined) {
      void this.#hearLost(gateway, number, lost);
    } else if (unconfirmed.length > 0) {
      const known = unconfirmed.map((request) => this.#kept.get(keyOf(gateway, request)));
      const confirmations = known.filter((confirmation) => confirmation !== undefined);
      this.#reportAll(gateway, confirmations);
    } else if (reached === undefined) {
      this.#report(gateway, [], { number, position: toWirePosition(this.engine.position) });
    } else {
      const { sequence } = fromWirePosition(reached);
      const waiting = { gateway, number, sequence, sinceMs: performance.now() };
      this.#waiting.set(keyOf(gateway, number), waiting);
      this.#answerWaiting();
    }
  }

  /** There is no answer where it is not noted: it is asked again. */
  async #hearLost(gateway: string, number: number, lost: Lost): Promise<void> {
    if (!(await this.#isLost(lost)) || !this.#noteLost(lost)) return;
    // A read may have shown all that is visible here.
    const position = toWirePosition(this.engine.horizon);
    this.#report(gateway, [], { number, position });
  }

  /**
   * Whether the node that has the place says so itself. A message that says it by mistake would take the
   * place of a healthy replica for good.
   */
  async #isLost(lost: Lost): Promise<boolean> {
    if (lost.replica >= MOST_REPLICAS || this.#isAskingBack) return false;
    if (!this.#isNews(lost)) return true;
    const { cluster, shard } = this.place;
    this.#isAskingBack = true;
    try {
      await this.nats.ask(subjects.lost(cluster, shard, lost), NOTHING);
      return true;
    } catch {
      return false;
    } finally {
      this.#isAskingBack = false;
    }
  }

  #isNews({ replica, incarnation }: Lost): boolean {
    return incarnation > (this.lostLogs.incarnations[replica] ?? 0);
  }

  /** False where that cannot be noted, as on a full disk. */
  #noteLost(lost: Lost): boolean {
    const { replica, incarnation } = lost;
    try {
      if (replica !== this.place.replica) this.lostLogs.raise(replica, incarnation);
      else if (this.#isNews(lost)) this.onReplaced();
    } catch {
      return false;
    }
    this.state.incarnations.set(this.lostLogs.incarnations);
    return true;
  }

  #answerWaiting(): void {
    const oldestMs = performance.now() - WAITING_MS;
    const { sequence: last } = this.state.applied.last;
    for (const [key, { gateway, number, sequence, sinceMs }] of this.#waiting) {
      const isReached = sequence <= last;
      if (isReached) {
        const position = this.state.applied.at(sequence);
        this.#report(gateway, [], { number, position: position && toWirePosition(position) });
      }
      if (isReached || sinceMs < oldestMs) this.#waiting.delete(key);
    }
  }
}

function keyOf(gateway: string, request: number): string {
  return `${gateway}-${request}`;
}
