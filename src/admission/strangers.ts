/* oxlint-disable no-restricted-properties -- Node.js has no public way to look at a socket */
import type { Socket } from 'node:net';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { hasLeft, unreadBytes } from '../engine/native.js';

/** A stranger is new for so many looks: its first request comes within them, mostly. */
const NEW_LOOKS = 5;

/** How soon a new one is looked at again. */
const NEW_INTERVAL_MS = 2;

/** How soon the others are, at the soonest, and how much later for each of them. */
const INTERVAL_MS = 20;
const INTERVAL_OF_EACH_MS = 0.5;

/**
 * The kinds of those that are due, in the order in which they are looked at: they are new, were
 * silent so far, were heard and showed no key, have sent more than a little, or much.
 */
const KINDS = [0, 1, 2, 3, 4];
const MORE = 3;
const MUCH = 4;

/** Every so many looks the new ones come last, and each of the other kinds first in its turn. */
const FAIR_TURN = 4;
const FAIR_KINDS = [
  [4, 3, 2, 1, 0],
  [3, 2, 1, 4, 0],
  [2, 1, 4, 3, 0],
  [1, 4, 3, 2, 0],
];

/** What was read in less took nothing from anybody; and the longest that nobody is read after it. */
const UNNOTICED_MS = 2;
const MAX_REST_MS = 100;

/**
 * For so long nobody is read who comes from where one did that was given up, for each KiB that was
 * read of that one: it is garbage that takes long to be collected, and the next one would bring as
 * much. At most for as long as the 64 KiB that are read at one time.
 */
const HELD_MS_PER_KIB = 3;
const MAX_HELD_MS = 64 * HELD_MS_PER_KIB;

/** What a client sends first, with a small request: so little does not take long to be read. */
const LITTLE_BYTES = 1024;
/** With a vector of some thousand values it is as much as this. */
const MORE_BYTES = 8 * 1024;

/** What reads a socket, past all streams of node, whose types do not know of it. */
interface Handle {
  /** Its file descriptor; -1 once it is closed. */
  readonly fd?: number;
  /** Whether node itself wants to read. */
  readonly reading?: boolean;
  /** Bytes that wait to be written. Before they are, node:http2 may not want to read either. */
  readonly writeQueueSize?: number;
  readStart?(): unknown;
  readStop?(): unknown;
}

/**
 * The connections, of both interfaces, on which nobody has shown a key yet. The loop reads what has
 * arrived on all connections before it does anything else, and 64 KiB can be thousands of requests
 * or resets: from a hundred connections at once, seconds. So of strangers one is read at a time, a
 * piece of it, and then the loop is for everyone else for as long as that took. Who shows a key is
 * no stranger any more.
 */
export class Strangers {
  /** The one that is read now, and since when, if it was looked at in this turn of the loop. */
  #reading: Stranger | undefined;
  #since: EventLoopUtilization | undefined;
  #isHeard = false;
  /** Whom to look at next, by their kinds. */
  readonly #due = KINDS.map(() => new Set<Stranger>());
  /** Who was silent when looked at. */
  readonly #silent = new Set<Stranger>();
  /** Who waits because one was given up that came from the same place. */
  readonly #held = new Map<string, Set<Stranger>>();
  #looks = 0;
  #isLooking = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = 0;
  #allDueAtMs = 0;

  /** Takes charge of a new connection until it has ended. */
  meet(socket: Socket): Stranger {
    const stranger = new Stranger(socket, this);
    socket.once('close', () => this.forget(stranger));
    this.#wait(stranger);
    return stranger;
  }

  /** Hears of something that was read of a stranger, which may be the first of thousands. */
  hear(stranger: Stranger): void {
    if (stranger === this.#reading) this.#isHeard = true;
    // One that waits already is only stopped: node may have gone on with it, behind an answer.
    if (this.#due.some((due) => due.has(stranger))) {
      stranger.stop();
      return;
    }
    this.forget(stranger);
    this.#wait(stranger);
  }

  /** Hears that one that came from there is to end for the bytes that were read of it. */
  hold(origin: string, bytes: number): void {
    if (this.#held.has(origin)) return;
    const isFromThere = (stranger: Stranger): boolean => stranger.origin === origin;
    const held = new Set(this.#due.flatMap((due) => [...due]).filter(isFromThere));
    for (const stranger of held) this.forget(stranger);
    this.#held.set(origin, held);
    const release = (): void => {
      this.#held.delete(origin);
      for (const stranger of held) this.#wait(stranger);
      this.#putMuchLast();
    };
    setTimeout(release, Math.min((bytes / 1024) * HELD_MS_PER_KIB, MAX_HELD_MS)).unref();
  }

  /** Has nothing to do any more with one that has ended, or is known. */
  forget(stranger: Stranger): void {
    for (const due of this.#due) due.delete(stranger);
    this.#silent.delete(stranger);
    this.#held.get(stranger.origin)?.delete(stranger);
    if (stranger === this.#reading) this.#reading = undefined;
  }

  #wait(stranger: Stranger): void {
    stranger.stop();
    const held = this.#held.get(stranger.origin);
    if (held !== undefined) {
      held.add(stranger);
      return;
    }
    this.#due[stranger.kind]?.add(stranger);
    this.#lookSoon();
  }

  /** Once all has been read that may be. */
  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => this.#afterLook());
  }

  #afterLook(): void {
    const since = this.#isHeard ? this.#since : undefined;
    const restMs = since === undefined ? 0 : performance.eventLoopUtilization(since).active;
    this.#isHeard = false;
    if (restMs < UNNOTICED_MS) this.#lookAtNext();
    else this.#rest(performance.now() + Math.min(restMs, MAX_REST_MS));
  }

  /** A timer counts from the beginning of the turn of the loop in which it was set. */
  #rest(untilMs: number): void {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) {
      this.#putMuchLast();
      this.#lookAtNext();
    } else setTimeout(() => this.#rest(untilMs), leftMs).unref();
  }

  /** Has those come last that have sent much: each of them has all wait behind it. */
  #putMuchLast(): void {
    for (const due of this.#due.slice(0, MORE)) {
      for (const stranger of due) {
        const bytes = stranger.unreadBytes;
        if (bytes <= LITTLE_BYTES) continue;
        due.delete(stranger);
        this.#due[bytes <= MORE_BYTES ? MORE : MUCH]?.add(stranger);
      }
    }
  }

  /** One turn of the loop reads what has arrived of it, if anything has. */
  #lookAtNext(): void {
    this.#isLooking = false;
    const next = this.#takeNext();
    if (next === undefined) {
      // The last one is read on for as long as nobody is due, whatever the loop does meanwhile.
      this.#since = undefined;
      return;
    }
    if (this.#reading !== undefined) this.#endLook(this.#reading);
    this.#reading = next;
    this.#since = performance.eventLoopUtilization();
    next.read();
    this.#lookSoon();
  }

  #takeNext(): Stranger | undefined {
    const isFair = this.#looks % FAIR_TURN === 0;
    const fair = FAIR_KINDS[(this.#looks / FAIR_TURN) % FAIR_KINDS.length];
    const kinds = (isFair ? fair : undefined) ?? KINDS;
    const [next] =
      kinds.flatMap((kind) => this.#due[kind] ?? []).find(({ size }) => size > 0) ?? [];
    if (next === undefined) return undefined;
    this.#looks += 1;
    this.forget(next);
    return next;
  }

  /** Whether it is read for as long as nobody else is due. */
  isReadOn(stranger: Stranger): boolean {
    return stranger === this.#reading && !this.#isLooking;
  }

  #endLook(stranger: Stranger): void {
    stranger.endRead();
    this.#silent.add(stranger);
    if (stranger.isNew) this.#lookAgainAfter(NEW_INTERVAL_MS);
    else this.#lookAgainAfter(Math.max(NEW_INTERVAL_MS, this.#allDueAtMs - performance.now()));
  }

  /** At the latest: it may be earlier. */
  #lookAgainAfter(intervalMs: number): void {
    const atMs = performance.now() + intervalMs;
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => this.#lookAgain(), intervalMs).unref();
  }

  #lookAgain(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    const isAllDue = nowMs >= this.#allDueAtMs;
    if (isAllDue) {
      this.#allDueAtMs = nowMs + Math.max(INTERVAL_MS, this.#silent.size * INTERVAL_OF_EACH_MS);
    }
    for (const stranger of this.#silent) {
      if (!isAllDue && !stranger.isNew) continue;
      this.#silent.delete(stranger);
      this.#wait(stranger);
    }
    if (this.#silent.size > 0) this.#lookAgainAfter(this.#allDueAtMs - nowMs);
  }
}

/** One of them, or who was one. */
export class Stranger {
  /** Where it comes from, and to which interface. */
  readonly origin: string;
  #isKnown = false;
  #isHeard = false;
  #looks = 0;
  #readUntilMs = performance.now();

  constructor(
    private readonly socket: Socket & { readonly _handle?: Handle | null },
    private readonly all: Strangers,
  ) {
    this.origin = `${socket.remoteAddress} ${socket.localPort}`;
  }

  /** Whether it is a stranger no more. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** All that had come by then has been read. */
  get readUntilMs(): number {
    return this.#isKnown || this.all.isReadOn(this) ? performance.now() : this.#readUntilMs;
  }

  /** What has come and waits to be read. */
  get unreadBytes(): number {
    return unreadBytes(this.#descriptor);
  }

  /** Whether its client has closed the connection, and left more than a little to be read. */
  get hasLeftMuch(): boolean {
    return hasLeft(this.#descriptor) && this.unreadBytes > LITTLE_BYTES;
  }

  get #descriptor(): number {
    const { _handle: handle } = this.socket;
    return handle?.fd ?? -1;
  }

  get isNew(): boolean {
    return this.kind === 0;
  }

  /** Who is not new has been silent for a while; who was heard has had a turn, and shown no key. */
  get kind(): 0 | 1 | 2 {
    if (this.#isHeard) return 2;
    return this.#looks < NEW_LOOKS ? 0 : 1;
  }

  /** Notes a request, of whoever. */
  noteHeard(): void {
    if (this.#isKnown) return;
    this.#isHeard = true;
    this.all.hear(this);
  }

  /** Notes that its connection is to end for the bytes that were read of it. */
  noteGivenUp(bytes: number): void {
    if (!this.#isKnown) this.all.hold(this.origin, bytes);
  }

  /** Notes that it has shown a key. */
  noteKey(): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    this.all.forget(this);
    this.#start();
  }

  /** Begins to read, unless an answer has to leave first. */
  read(): void {
    this.#looks += 1;
    const { _handle: handle } = this.socket;
    if ((handle?.writeQueueSize ?? 0) === 0) this.#start();
  }

  #start(): void {
    const { _handle: handle } = this.socket;
    if (handle?.reading === true) handle.readStart?.();
  }

  endRead(): void {
    this.stop();
    this.#readUntilMs = performance.now();
  }

  stop(): void {
    const { _handle: handle } = this.socket;
    handle?.readStop?.();
  }
}
