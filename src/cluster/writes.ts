import { setTimeout as sleep } from 'node:timers/promises';
import { MOST_CHANGE_BYTES } from '../config/settings.js';
import { VectordError } from '../core/errors.js';
import { inParallel } from '../core/in-parallel.js';
import { messageOf } from '../core/start-error.js';
import { codeOf } from '../engine/errors.js';
import type { Confirmation } from '../gen/vectord/cluster/v1/cluster.js';
import type { WriteEnd } from '../observe/loop-stats.js';
import { BackOff } from './back-off.js';
import { deferred, type Deferred } from '../core/deferred.js';
import type { Gateway } from './voting/gateway.js';
import { encodeMessage, ENVELOPE_BYTES, messageId, type Sender } from './nats/message.js';
import type { Nats } from './nats/nats.js';
import type { NodeState } from './voting/node-state.js';
import { decodeOutcome, type ConfirmedOutcome } from './voting/outcome.js';
import { majorityOf } from './voting/quorum.js';

/** A write takes no longer: what is not known then is answered as that. */
const LONGEST_MS = 20_000;
/** A message that the stream does not acknowledge within this time is sent again under the same id. */
const ACKNOWLEDGE_MS = 2_000;
const PAUSE_MS = 50;
/** Confirmations that do not come within this time may be lost: the replicas are asked for them. */
const CONFIRM_MS = 500;
const LOOK_MS = 250;
/** For so many, the oldest, at one time: they have to fit into a message. */
const MOST_ASKED = 4_096;
/** After a write without an outcome the shard counts as silent for so long, or until it answers. */
const SILENT_MS = 30_000;
/** What replicas say of their disks holds for so long, and is waited for at most for so long. */
const SPACE_KNOWN_MS = 1_000;
const LONGEST_ASKING_MS = 100;
const ASKING_LOOK_MS = 2;
/** So many parts of a large change are on their way at one time. */
const PARTS_AT_ONCE = 8;

/** A write without an outcome. */
interface Waiting {
  readonly outcome: Deferred<ConfirmedOutcome>;
  readonly begunAtMs: number;
  /** Given up, or answered: nothing is sent for it any more. */
  aborted: boolean;
  /** Whether the stream may have got its message. */
  mayBeStored: boolean;
  /** How often its message was sent. */
  tries: number;
  /** The outcomes that replicas have confirmed, and which have: more than one where histories differ. */
  readonly votes: { readonly outcome: Uint8Array; readonly replicas: Set<number> }[];
}

/**
 * The writes of one event loop: each is a message of the stream, and is acknowledged once a majority
 * of the replicas have it in their own logs, with the same history and the same outcome.
 */
export class Writes {
  readonly #waiting = new Map<number, Waiting>();
  readonly #backOff = new BackOff();
  readonly #sweeping: NodeJS.Timeout;
  #lastRequest = 0;
  #asking: Promise<void> | undefined;
  #silentUntilMs = -Infinity;
  /** How many have ended in which way. */
  readonly ended = new Map<WriteEnd, number>([
    ['acknowledged', 0],
    ['refused', 0],
    ['unknown', 0],
  ]);

  /** @param replicas how many there are */
  constructor(
    private readonly nats: Nats,
    private readonly gateway: Gateway,
    private readonly subject: string,
    private readonly replicas: number,
    private readonly state: NodeState,
  ) {
    gateway.onConfirmation = (replica, confirmation) => this.#confirm(replica, confirmation);
    gateway.onLost.push((replica) => this.#forget(replica));
    this.#sweeping = setInterval(() => this.#sweep(), LOOK_MS).unref();
  }

  /**
   * Writes a change. Throws a VectordError: OUTCOME_UNKNOWN where it is not known whether it is
   * stored, and where it certainly is not, UNAVAILABLE, STORAGE_FULL or what every replica refuses.
   */
  async write(change: Uint8Array, stores: boolean): Promise<ConfirmedOutcome> {
    let end: WriteEnd = 'refused';
    try {
      const outcome = await this.#write(change, stores);
      end = 'acknowledged';
      return outcome;
    } catch (error) {
      if (error instanceof VectordError && error.code === 'OUTCOME_UNKNOWN') end = 'unknown';
      throw error;
    } finally {
      this.ended.set(end, (this.ended.get(end) ?? 0) + 1);
    }
  }

  close(): void {
    clearInterval(this.#sweeping);
    for (const waiting of this.#waiting.values()) this.#giveUp(waiting, 'this node stops');
  }

  async #write(change: Uint8Array, stores: boolean): Promise<ConfirmedOutcome> {
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    const waiting: Waiting = {
      outcome: deferred(),
      begunAtMs: performance.now(),
      aborted: false,
      mayBeStored: false,
      tries: 0,
      votes: [],
    };
    this.#waiting.set(request, waiting);
    const sender = { gateway: this.gateway.id, request };
    this.#send(sender, change, waiting, stores).catch(waiting.outcome.reject);
    try {
      const outcome = await waiting.outcome.promise;
      if (outcome.isVoid) throw tooLate(waiting.tries > 1);
      if (outcome.refused !== undefined) {
        const { code, message } = outcome.refused;
        throw new VectordError(codeOf(code), message);
      }
      this.state.acknowledged.note(outcome);
      return outcome;
    } finally {
      this.#waiting.delete(request);
      waiting.aborted = true;
    }
  }

  get #majority(): number {
    return majorityOf(this.replicas);
  }

  /** Whether too few replicas have room. */
  get areFull(): boolean {
    return this.replicas - this.gateway.fullReplicas < this.#majority;
  }

  /** Whether the last writes had no outcome in time. */
  get areSilent(): boolean {
    return performance.now() < this.#silentUntilMs;
  }

  /** What stores points is not sent where too few replicas have room: it would hold back deletes. */
  async #checkSpace(): Promise<void> {
    const heard = this.gateway.heardSince(performance.now() - SPACE_KNOWN_MS);
    if (heard.length < this.#majority) await (this.#asking ??= this.#askForSpace());
    if (!this.areFull) return;
    throw new VectordError(
      'STORAGE_FULL',
      'the disks of most replicas are full: free some space there, or delete points',
    );
  }

  /** Who has written nothing for a while, or has just started, does not know which disks are full. */
  async #askForSpace(): Promise<void> {
    const askedAtMs = performance.now();
    this.#ask([]);
    while (performance.now() - askedAtMs < LONGEST_ASKING_MS) {
      const heard = this.gateway.heardSince(askedAtMs);
      const withRoom = heard.filter((replica) => !this.gateway.isFull(replica));
      if (withRoom.length >= this.#majority || heard.length >= this.replicas) break;
      await sleep(ASKING_LOOK_MS);
    }
    this.#asking = undefined;
  }

  #ask(unconfirmed: number[]): void {
    this.gateway.ask({ number: 0, unconfirmed, reached: undefined });
  }

  async #send(
    sender: Sender,
    change: Uint8Array,
    waiting: Waiting,
    stores: boolean,
  ): Promise<void> {
    if (change.length > MOST_CHANGE_BYTES) throw tooLarge(change.length);
    if (stores) await this.#checkSpace();
    // This write will tell: the next go elsewhere meanwhile.
    if (this.#silentUntilMs > -Infinity) this.#silentUntilMs = performance.now() + SILENT_MS;
    // All messages of a turn are one write to the socket: the server reads, orders and syncs them
    // together, and so do the replicas.
    await this.nats.turnEnd();
    const most = this.nats.maxPayload - ENVELOPE_BYTES;
    if (change.length <= most) {
      await this.#publish(encodeMessage(sender, { change }), messageId(sender), waiting, true);
      return;
    }
    const count = Math.ceil(change.length / most);
    const sequences: bigint[] = [];
    let next = 0;
    await inParallel(PARTS_AT_ONCE, async () => {
      if (next >= count) return false;
      const at = next;
      next += 1;
      const part = change.subarray(at * most, (at + 1) * most);
      const bytes = encodeMessage(sender, { part });
      const sequence = await this.#publish(bytes, messageId(sender, at), waiting, false);
      sequences[at] = BigInt(sequence);
      return true;
    });
    const bytes = encodeMessage(sender, { parts: { sequences } });
    await this.#publish(bytes, messageId(sender), waiting, true);
  }

  /**
   * Sends a message until the stream acknowledges it, and answers its sequence. It `decides` unless it
   * is a part: without it nothing is stored.
   */
  async #publish(
    bytes: Uint8Array,
    msgID: string,
    waiting: Waiting,
    decides: boolean,
  ): Promise<number> {
    while (await this.#backOff.turn(waiting)) {
      if (!this.nats.isConnected) {
        await sleep(PAUSE_MS);
        continue;
      }
      const before = waiting.mayBeStored;
      waiting.mayBeStored ||= decides;
      if (decides) waiting.tries += 1;
      try {
        const options = { msgID, timeout: ACKNOWLEDGE_MS, retries: 1 };
        const { seq } = await this.nats.streams.publish(this.subject, bytes, options);
        this.#backOff.heard();
        return seq;
      } catch (error) {
        const fate = fateOf(error);
        // The stream answers: there is no need to back off.
        if (fate === 'full') this.#backOff.heard();
        if (fate !== 'unknown') waiting.mayBeStored = before;
        if (fate === 'full' && !before) throw streamFull();
        await sleep(PAUSE_MS);
      }
    }
    throw new VectordError('CANCELLED', 'the write has ended');
  }

  #confirm(replica: number, { request, outcome }: Confirmation): void {
    const waiting = this.#waiting.get(request);
    if (waiting === undefined) return;
    const equal = waiting.votes.find((vote) => Buffer.compare(vote.outcome, outcome) === 0);
    const vote = equal ?? { outcome, replicas: new Set() };
    if (equal === undefined) waiting.votes.push(vote);
    vote.replicas.add(replica);
    if (vote.replicas.size < this.#majority) return;
    this.#silentUntilMs = -Infinity;
    waiting.outcome.resolve(decodeOutcome(outcome));
  }

  /** What a log has confirmed that is lost now is in one log less. */
  #forget(replica: number): void {
    for (const { votes } of this.#waiting.values()) {
      for (const { replicas } of votes) replicas.delete(replica);
    }
  }

  /**
   * Asks for confirmations that may be lost, and whether disks are still full: no insert is sent
   * meanwhile, so nothing else would tell. Gives up what has waited for too long.
   */
  #sweep(): void {
    const now = performance.now();
    const unconfirmed: number[] = [];
    for (const [request, waiting] of this.#waiting) {
      const ageMs = now - waiting.begunAtMs;
      if (ageMs >= LONGEST_MS) {
        this.#silentUntilMs = now + SILENT_MS;
        this.#giveUp(waiting, `the cluster has given no outcome within ${LONGEST_MS / 1_000} s`);
      } else if (ageMs >= CONFIRM_MS && waiting.mayBeStored) {
        unconfirmed.push(request);
      }
    }
    if (unconfirmed.length > 0 || this.gateway.fullReplicas > 0) {
      this.#ask(unconfirmed.slice(0, MOST_ASKED));
    }
  }

  #giveUp({ outcome, mayBeStored }: Waiting, why: string): void {
    outcome.reject(withoutOutcome(mayBeStored, why));
  }
}

function withoutOutcome(mayBeStored: boolean, why: string): VectordError {
  return mayBeStored
    ? new VectordError('OUTCOME_UNKNOWN', `whether the write is stored is not known: ${why}`)
    : new VectordError('UNAVAILABLE', `nothing was written: ${why}`);
}

/** Whether the stream has got a message for which there is no acknowledgement. */
function fateOf(error: unknown): 'unknown' | 'full' | 'not sent' {
  const message = messageOf(error);
  if (/maximum (?:bytes|messages) exceeded/.test(message)) return 'full';
  // The client says so where nobody listens to the subject of the stream.
  return /jetstream is not enabled|no responders/i.test(message) ? 'not sent' : 'unknown';
}

function streamFull(): VectordError {
  return new VectordError(
    'STORAGE_FULL',
    'the stream of the cluster is full: if a node is away, start it; else writes come faster than the ' +
      'stream is trimmed: try again in a minute, and raise CLUSTER_LOG_BYTES',
  );
}

function tooLarge(bytes: number): VectordError {
  return new VectordError(
    'TOO_LARGE',
    `the change takes ${bytes} bytes, expected at most ${MOST_CHANGE_BYTES} in a cluster: send it in ` +
      'several requests',
  );
}

/** Of a message that was sent again, another copy may have been in time. */
function tooLate(wasSentAgain: boolean): VectordError {
  return withoutOutcome(
    wasSentAgain,
    'the message came too late into the stream, or the clocks of this node and of the NATS servers ' +
      'differ by more than 30 s',
  );
}
