import {
  DeliverPolicy,
  type ConsumerMessages,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MOST_CHANGE_BYTES } from '../../config/settings.js';
import { VectordError } from '../../core/errors.js';
import { messageOf } from '../../core/start-error.js';
import type { Engine, Outcome } from '../../engine/native.js';
import type { StreamMessage } from '../../gen/vectord/cluster/v1/cluster.js';
import type { Logger } from '../../observe/logger.js';
import { isGateway, isVoid, isWholeChange, readMessage, type Reading } from '../nats/message.js';
import type { Nats } from '../nats/nats.js';
import { ReplicaState, type NodeState } from '../voting/node-state.js';
import { encodeOutcome } from '../voting/outcome.js';
import { Rate } from './rate.js';
import type { Reporter } from './reporter.js';
import { PARTS_MS } from './trim.js';

/**
 * A replica is behind if it still has to apply at least this many messages; then until it has to apply no
 * more than it does in a second, as a message may have thousands of points.
 */
const BEHIND_MESSAGES = 1_000;

/** So much is given to the engine before it has answered: bytes of changes, and messages. */
const APPLIED_BYTES = 32 * 1024 * 1024;
const APPLIED_MESSAGES = 1_024;

/** A server with nothing to send gives a sign of life in this time; one that is silent has gone. */
const HEARTBEAT_MS = 500;
const SILENCE_MS = 2_000;
const PULL_MS = 10_000;

/** So far apart may the two forms be in which a client says when a message was stored. */
const ROUNDED_MS = 1;

/** A message that is missing for so long is lost: each try may ask another server for it. */
const LOST_MS = 10_000;

/** What is no message is asked for again so often before it is passed over. */
const READ_AGAIN = 2;
/** So many messages from such a one on are read side by side. */
const READ_AHEAD = 64;
/** A line of the log about such messages is followed by the next no sooner. */
const STRAY_LINE_MS = 10_000;

const PAUSE_MS = 250;
const NANOSECONDS = 1e6;
const NOTHING = new Uint8Array();

/** No shard has so many points: less than 2^53 with 48 bits more. */
const MORE_THAN_ALL = 2 ** 52;
const HASH_BYTES = 6;

/**
 * Stops the reading of a stream once there is no sign of life. The client itself may wait for ever for
 * a consumer that has gone with its server, or makes another one and reads on: then nobody would
 * notice that the stream has lost its end.
 */
class Silence {
  #heardAtMs = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly messages: ConsumerMessages) {
    void this.#listen();
    this.#timer = setInterval(() => {
      if (performance.now() - this.#heardAtMs > SILENCE_MS) messages.stop();
    }, HEARTBEAT_MS);
  }

  /** Nothing is expected: there are messages that are not taken yet. */
  pause(): void {
    this.#heardAtMs = Infinity;
  }

  goOn(): void {
    this.#heardAtMs = performance.now();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #listen(): Promise<void> {
    for await (const { type } of this.messages.status()) {
      if (type === 'reset') this.messages.stop();
      if (type === 'heartbeat' && this.#heardAtMs < Infinity) this.goOn();
    }
  }
}

/** A server lacks a message that the stream should have, as after damage of its disk. */
class Missing extends Error {}

/** A message of the stream, as it was read. */
interface Taken {
  readonly seq: number;
  readonly data: Uint8Array;
  readonly storedAtMs: number;
  readonly reading: Reading;
}

/** What a message has the engine do, and who waits for the outcome. */
interface Effect {
  readonly change: Uint8Array;
  readonly sender: StreamMessage | undefined;
  readonly isVoid: boolean;
  /** Why it is passed over, if it is no message of a node. */
  readonly stray?: string;
}

/** The replica cannot go on: it takes no message until the node is started again. */
class Stopped extends Error {}

/**
 * Keeps the replica of a node up with the stream of its shard: gives each message to the engine, in
 * order and once, and tells what it has done.
 */
export class Follower {
  #isClosed = false;
  #messages: ConsumerMessages | undefined;
  /** What the engine has not answered yet. */
  readonly #applying = new Set<Promise<void>>();
  #applyingBytes = 0;
  readonly #applied = new Rate();
  /** The engine has refused a message: it is read again once those before it are answered. */
  #isRefused = false;
  #stopped: Stopped | undefined;
  /** Resolves once the replica is noted as that of this node: each outcome waits for it, in its turn. */
  #claimed: Promise<void> | undefined;
  /** The last message that the engine has applied. */
  #last: Taken | undefined;
  #strayLineAtMs = -Infinity;
  #cutOff: string | undefined;
  /** Why the stream was last not followed, until a message is applied again. */
  #fault: string | undefined;
  /** Behind which message one is missing, since when, and how, once that is long. */
  #missing: { sequence: number; sinceMs: number; lost?: string } | undefined;
  /** The last message of the stream, as far as is known; undefined while it is not followed. */
  #end: number | undefined;
  readonly #running: Promise<void>;

  /**
   * @param created when the stream was made, as the map says
   * @param claim notes durably that the replica is that of this node, before it confirms anything
   * @param most what is beyond is no change: bytes in all its parts, and how much older they are
   */
  constructor(
    private readonly nats: Nats,
    private readonly engine: Engine,
    private readonly stream: string,
    private readonly created: string | undefined,
    private readonly reporter: Reporter,
    private readonly state: NodeState,
    private readonly logger: Logger,
    private readonly claim: () => void = () => undefined,
    private readonly most = { changeBytes: MOST_CHANGE_BYTES, partsMs: PARTS_MS },
  ) {
    state.replica = ReplicaState.Behind;
    this.#running = this.#run();
  }

  /** That the stream has the next message no longer, if so. */
  get cutOff(): string | undefined {
    const { sequence, lost } = this.#missing ?? {};
    return this.#cutOff ?? (sequence === this.engine.position.sequence ? lost : undefined);
  }

  /** Why the replica does not follow its stream, if it does not and there is a reason. */
  get fault(): string | undefined {
    if (this.state.replica === ReplicaState.Following) return undefined;
    return this.#stopped?.message ?? this.#fault;
  }

  /** Stops for good, for a reason that is no message. */
  stopFor(reason: string): void {
    this.#stopped ??= new Stopped(reason);
    this.#messages?.stop();
  }

  /** Takes nothing more from the stream. What the engine has may wait in it, as for disk space. */
  stop(): void {
    this.#isClosed = true;
    this.#messages?.stop();
  }

  /** Resolves once what the engine has is answered: at the latest when it is closed. */
  async ended(): Promise<void> {
    await this.#running;
    await this.#settle();
  }

  async #run(): Promise<void> {
    let lastReason: string | undefined;
    while (!this.#isClosed && this.#stopped === undefined) {
      try {
        await this.#follow();
        lastReason = undefined;
      } catch (error) {
        if (error instanceof Stopped) this.#stopped = error;
        if (error instanceof Missing) this.#onMissing(error);
        this.state.replica = ReplicaState.Behind;
        const reason = messageOf(error);
        if (reason !== lastReason)
          this.logger.warn(
            { stream: this.stream, reason },
            'the replica does not follow its stream: it tries again',
          );
        lastReason = reason;
        this.#fault = reason;
      }
      await this.#settle();
      this.#isRefused = false;
      if (!this.#isClosed && this.#stopped === undefined) await sleep(PAUSE_MS);
    }
    if (this.#stopped === undefined) return;
    this.state.replica = ReplicaState.Stopped;
    const reason = this.#stopped.message;
    this.logger.error({ stream: this.stream, reason }, 'the replica of this node has stopped');
  }

  /** Reads the stream from where the replica is until that is interrupted. */
  async #follow(): Promise<void> {
    let next = this.engine.position.sequence + 1;
    const consumer = await this.nats.streams.consumers.get(this.stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: next,
    });
    const messages = await consumer.consume({
      idle_heartbeat: HEARTBEAT_MS,
      expires: PULL_MS,
    });
    this.#messages = messages;
    if (this.#isClosed) messages.stop();
    const silence = new Silence(messages);
    // How many are being taken, each behind the one before: what is read again holds back the next.
    let taking = 0;
    let last = Promise.resolve();
    const end = async (taken: Promise<void>): Promise<void> => {
      try {
        await taken;
        taking -= 1;
        if (taking === 0) silence.goOn();
      } catch {
        messages.stop();
      }
    };
    try {
      // What the stream loses from here on ends the reading.
      await this.#checkStream();
      for await (const message of messages) {
        if (this.#isOver) break;
        // The client promises no order where servers change: another consumer reads again.
        if (message.seq !== next) {
          const reason = `message ${message.seq} has come, but the replica needs ${next}`;
          if (message.seq < next) throw new Error(reason);
          const { cluster } = await consumer.info();
          throw new Missing(
            cluster?.leader === undefined
              ? reason
              : `${reason}: the NATS server ${cluster.leader} has lost what is between`,
          );
        }
        next += 1;
        silence.pause();
        const taken = takenOf(message, message.info.timestampNanos / NANOSECONDS);
        const read = this.#readAgain(taken);
        // A failure is thrown in its turn.
        read.catch(() => undefined);
        last = this.#takeInTurn(last, read, message);
        taking += 1;
        void end(last);
        const mayGoAhead = taken.reading.kind === 'stray' || taking > 1;
        if (taking >= (mayGoAhead ? READ_AHEAD : 1)) await last;
      }
      await last;
    } finally {
      silence.end();
      messages.stop();
      await last.catch(() => undefined);
      this.#end = undefined;
    }
  }

  /**
   * Looks whether the stream is the one that this replica has followed so far. A server that was away
   * may answer what was long ago: it is asked again.
   */
  async #checkStream(): Promise<void> {
    const manager = await this.nats.manager();
    const { created, state } = await manager.streams.info(this.stream);
    const { sequence } = this.engine.position;
    if (created !== this.created) {
      throw new Error(
        `the stream was made at ${created}, but that of the map at ${this.created}: it was made again`,
      );
    }
    if (state.last_seq < sequence) {
      throw new Error(
        `the stream ends with message ${state.last_seq}, but the replica has ${sequence} already`,
      );
    }
    if (state.first_seq > sequence + 1) {
      this.#cutOff = `the stream begins with message ${state.first_seq}, but the replica needs ${sequence + 1}`;
      throw new Error(this.#cutOff);
    }
    if (state.first_seq <= sequence) await this.#compareLast(manager);
    if (state.last_seq === sequence) this.state.replica = ReplicaState.Following;
  }

  /**
   * A stream that has lost its end, as by a power cut of its servers, and has got others instead, is
   * not followed: messages that were acknowledged are missing in it, and others may come again. One of
   * those may have the sequence of the last message and its bytes, but was stored at another time.
   */
  async #compareLast(manager: JetStreamManager): Promise<void> {
    if (this.#last === undefined) return;
    const { seq, data, storedAtMs } = this.#last;
    const stored = await manager.streams.getMessage(this.stream, { seq });
    if (
      stored !== null &&
      Buffer.compare(stored.data, data) === 0 &&
      Math.abs(stored.time.getTime() - storedAtMs) <= ROUNDED_MS
    ) {
      return;
    }
    throw new Error(`message ${seq} of the stream is another one than the replica has applied`);
  }

  /** Nothing more is to be taken from this reading of the stream. */
  get #isOver(): boolean {
    return this.#isRefused || this.#isClosed || this.#stopped !== undefined;
  }

  async #takeInTurn(before: Promise<void>, read: Promise<Taken>, message: JsMsg): Promise<void> {
    await before;
    const taken = await read;
    if (this.#isOver) return;
    await this.#take(taken);
    this.#end = message.seq + message.info.pending;
    this.#judge();
  }

  async #take(taken: Taken): Promise<void> {
    const effect = await this.#effectOf(taken);
    while (this.#isFull) {
      // It is answered first, as the engine applies in order.
      const [oldest] = this.#applying;
      await oldest;
    }
    this.#apply(taken, effect);
  }

  /**
   * What a message says. One that is none may have been damaged on its way: the stream is asked for it
   * again, and has to give the same bytes each time.
   */
  async #readAgain(taken: Taken): Promise<Taken> {
    if (taken.reading.kind !== 'stray') return taken;
    const { seq } = taken;
    const manager = await this.nats.manager();
    await this.nats.turnEnd();
    const asking = Array.from(
      { length: READ_AGAIN },
      async () => await manager.streams.getMessage(this.stream, { seq }),
    );
    for (const stored of await Promise.all(asking)) {
      if (stored === null) throw new Missing(`message ${seq} cannot be read again`);
      if (Buffer.compare(stored.data, taken.data) === 0) continue;
      const reading = readMessage(stored.data);
      if (reading.kind === 'stray') throw hasOtherBytes(seq);
      return { ...taken, data: stored.data, reading };
    }
    return taken;
  }

  async #effectOf(taken: Taken): Promise<Effect> {
    const { seq, storedAtMs, reading } = taken;
    if (reading.kind === 'unknown') throw new Stopped(`message ${seq} ${reading.reason}`);
    if (reading.kind === 'stray') return this.#strayEffect(taken, reading.reason);
    const { message } = reading;
    // A part has no outcome: its change has.
    const sender = message.part || !isGateway(message.gateway) ? undefined : message;
    const isLate = isVoid(message, storedAtMs);
    if (isLate || message.part) return { change: NOTHING, sender, isVoid: isLate };
    if (message.change === undefined && message.parts === undefined)
      throw new Stopped(`message ${seq} holds no change that this vectord knows`);
    const change = message.change ?? (await this.#joined(message, taken, reading.isFramed));
    if (change === undefined || change.length === 0) {
      const reason = message.parts ? 'it names parts that are none' : 'its change is empty';
      return { ...this.#strayEffect(taken, reason), sender };
    }
    return { change, sender, isVoid: false };
  }

  /** All replicas pass over it. They compare their histories, and are to have read the same. */
  #strayEffect({ data }: Taken, stray: string): Effect {
    const change = this.engine.messages.deleteAll(countOfNone(data));
    return { change, sender: undefined, isVoid: true, stray };
  }

  /** Judges by what the engine has applied, not by what it was given. */
  #judge(): void {
    if (this.#end === undefined) return;
    const lacks = this.#end - this.engine.position.sequence;
    const wasBehind = this.state.replica === ReplicaState.Behind;
    const isBehind = lacks >= BEHIND_MESSAGES || (wasBehind && lacks > this.#applied.perSecond);
    this.state.replica = isBehind ? ReplicaState.Behind : ReplicaState.Following;
  }

  get #isFull(): boolean {
    return this.#applyingBytes > APPLIED_BYTES || this.#applying.size >= APPLIED_MESSAGES;
  }

  /**
   * The change of a message with parts; undefined where they are none. Without frames nothing else tells
   * whether they are whole: the stream is asked for them again as for a message that is none.
   */
  async #joined(
    message: StreamMessage,
    taken: Taken,
    isFramed: boolean,
  ): Promise<Uint8Array | undefined> {
    const first = await this.#readParts(message, taken);
    if (first === undefined || isFramed || isWholeChange(first)) return first;
    for (let again = 0; again < READ_AGAIN; again += 1) {
      const change = await this.#readParts(message, taken);
      if (change !== undefined && isWholeChange(change)) return change;
      if (change === undefined || Buffer.compare(change, first) !== 0)
        throw hasOtherBytes(taken.seq);
    }
    return undefined;
  }

  async #readParts(
    { parts, gateway, request }: StreamMessage,
    { seq, storedAtMs }: Taken,
  ): Promise<Uint8Array | undefined> {
    const sequences = parts?.sequences.map(Number) ?? [];
    const areBefore = sequences.every((sequence) => sequence > 0 && sequence < seq);
    if (!areBefore || new Set(sequences).size < sequences.length) return undefined;
    const manager = await this.nats.manager();
    const bytes: Uint8Array[] = [];
    let total = 0;
    for (const sequence of sequences) {
      const stored = await manager.streams.getMessage(this.stream, { seq: sequence });
      if (stored === null) {
        if (await this.#wasNoPart(manager, sequence, storedAtMs)) return undefined;
        throw new Missing(this.#cutOff ?? `message ${sequence} cannot be read`);
      }
      const { data, time } = stored;
      const { reading } = await this.#readAgain(takenOf({ seq: sequence, data }, time.getTime()));
      if (reading.kind === 'unknown') throw new Stopped(`message ${sequence} ${reading.reason}`);
      const other = reading.kind === 'message' ? reading.message : undefined;
      const isPart = other?.gateway === gateway && other.request === request;
      if (!isPart || other.part === undefined) return undefined;
      total += other.part.length;
      if (total > this.most.changeBytes) return undefined;
      bytes.push(other.part);
    }
    return total === 0 ? undefined : Buffer.concat(bytes);
  }

  /**
   * Whether a message that cannot be read was no part, as it is much older than the change. Else a server
   * that was away may not have it yet, or it was trimmed: a stream that is nearly full is trimmed without
   * the slowest replicas.
   */
  async #wasNoPart(
    manager: JetStreamManager,
    sequence: number,
    storedAtMs: number,
  ): Promise<boolean> {
    const { state } = await manager.streams.info(this.stream);
    if (state.first_seq <= sequence) return false;
    if (Date.parse(state.first_ts) < storedAtMs - this.most.partsMs) return true;
    this.#cutOff = `message ${sequence} cannot be read: the stream begins with ${state.first_seq}`;
    return false;
  }

  #onMissing({ message }: Missing): void {
    const { sequence } = this.engine.position;
    const nowMs = performance.now();
    if (this.#missing?.sequence !== sequence) this.#missing = { sequence, sinceMs: nowMs };
    if (nowMs - this.#missing.sinceMs > LOST_MS) this.#missing.lost = message;
  }

  /** Gives a change to the engine; the next may be given to it before it has answered. */
  #apply(taken: Taken, effect: Effect): void {
    const { change } = effect;
    this.#applyingBytes += change.length;
    const applying = this.engine
      .apply(change, taken.seq)
      .then((outcome) => this.#onApplied(taken, effect, outcome))
      .catch((error: unknown) => this.#onRefused(error));
    const ended = applying.finally(() => {
      this.#applyingBytes -= change.length;
      this.#applying.delete(ended);
    });
    this.#applying.add(ended);
  }

  async #onApplied(taken: Taken, effect: Effect, outcome: Outcome): Promise<void> {
    await (this.#claimed ??= this.#claim());
    const { sender, isVoid: isLate, stray } = effect;
    this.#last = taken;
    this.#fault = undefined;
    if (stray !== undefined) this.#onStray(taken, stray);
    this.#applied.note();
    this.#judge();
    this.reporter.note(outcome, sender, encodeOutcome(outcome, isLate));
  }

  /** Tries until it is noted, as the engine does where the disk is full. */
  async #claim(): Promise<void> {
    let lastReason: string | undefined;
    for (;;) {
      try {
        this.claim();
        return;
      } catch (error) {
        if (this.#isClosed || this.#stopped !== undefined) throw error;
        const reason = messageOf(error);
        if (reason !== lastReason)
          this.logger.warn(
            { stream: this.stream, reason },
            'the replica cannot be noted as that of this node, and confirms nothing: trying again',
          );
        lastReason = reason;
      }
      await sleep(PAUSE_MS);
    }
  }

  #onStray({ seq, data }: Taken, reason: string): void {
    this.reporter.noteStray();
    if (performance.now() - this.#strayLineAtMs < STRAY_LINE_MS) return;
    this.#strayLineAtMs = performance.now();
    this.logger.warn(
      { stream: this.stream, sequence: seq, bytes: data.length, reason },
      'a message of the stream is of no node, and changes nothing: see who may publish there',
    );
  }

  #onRefused(error: unknown): void {
    const isTransient = error instanceof VectordError && error.code === 'OVERLOADED';
    // Those behind a refused one are refused as well, as they are not the next.
    if (this.#isRefused || this.#isClosed) return;
    this.#isRefused = true;
    if (!isTransient) this.#stopped ??= new Stopped(messageOf(error));
    this.#messages?.stop();
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#applying);
  }
}

function takenOf({ seq, data }: Pick<JsMsg, 'seq' | 'data'>, storedAtMs: number): Taken {
  return { seq, data, storedAtMs, reading: readMessage(data) };
}

function hasOtherBytes(seq: number): Error {
  return new Error(`message ${seq} has other bytes when it is read again`);
}

/** A number of points that no shard has, and that says which bytes were passed over. */
function countOfNone(bytes: Uint8Array): number {
  const hash = createHash('sha256').update(bytes).digest();
  return MORE_THAN_ALL + hash.readUIntLE(0, HASH_BYTES);
}
