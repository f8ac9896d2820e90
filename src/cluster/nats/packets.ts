import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryBudget } from '../../admission/memory-budget.js';
import { VectordError } from '../../core/errors.js';
import { inParallel } from '../../core/in-parallel.js';
import { Packet, PieceQuestion, type Packet_Kept } from '../../gen/vectord/cluster/v1/cluster.js';
import { ENVELOPE_BYTES } from './message.js';
import type { Nats } from './nats.js';
import { subjects } from './subjects.js';
import { Turns } from './turns.js';

/** An answer that is not fetched is kept for so long. */
const KEPT_MS = 30_000;
/** How long a close waits at most for the answers that other nodes have asked for. */
const CLOSE_MS = 2_000;
const LOOK_MS = 10;
/** A piece is waited for no longer. */
const PIECE_MS = 10_000;
/*
 * A NATS server leaves a connection for which it has to keep 64 MiB. What comes unasked is small, and
 * of the rest so much is asked for at one time: pieces of one packet, and of all.
 */
const MOST_WHOLE_BYTES = 64 * 1024;
const MOST_PIECE_BYTES = 1024 * 1024;
const PIECES_AT_ONCE = 4;
const ALL_PIECES_AT_ONCE = 16;

const ID_BYTES = 8;
const NOTHING = new Uint8Array();

interface Kept {
  readonly bytes: Uint8Array;
  /** How many of them are not fetched yet: each is fetched once. */
  left: number;
  /** How many bytes of the budget it has taken. */
  readonly reservedBytes: number;
}

/**
 * Questions and answers of any size between nodes: what is too large for a message is kept where it
 * is, and the other side fetches it in pieces. What is kept as an answer, and what is being fetched,
 * takes its bytes of a budget.
 */
export class Packets {
  readonly #subject: string;
  readonly #kept = new Map<number, Kept>();
  readonly #fetches = new Turns(ALL_PIECES_AT_ONCE);
  readonly #served: (() => Promise<void>)[] = [];
  #answering = 0;
  #last = 0;

  constructor(
    private readonly nats: Nats,
    cluster: string,
    private readonly budget: MemoryBudget,
  ) {
    this.#subject = subjects.pieces(cluster, randomBytes(ID_BYTES).toString('hex'));
    nats.subscribe(this.#subject, (bytes, answer) => this.#hear(bytes, answer));
  }

  /**
   * Asks at a subject, and resolves with the answer. Rejects where nobody answers, or not in time, and
   * with OVERLOADED where the budget has no room for the answer.
   */
  async ask(subject: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    // The request that asks has taken the bytes of its question.
    const packet = this.#pack(question, 0);
    try {
      const answer = await this.nats.ask(subject, Packet.encode(packet).finish(), timeoutMs);
      return await this.#unpack(answer);
    } finally {
      this.#forget(packet);
    }
  }

  /**
   * Answers what is asked at a subject; of several who serve it one answers each question. Where the
   * budget has no room for a question or its answer, `refuse` says what is answered.
   */
  serve(
    subject: string,
    answer: (question: Uint8Array) => Promise<Uint8Array>,
    refuse: (error: VectordError) => Uint8Array,
  ): void {
    const answerOf = async (bytes: Uint8Array): Promise<Packet | undefined> => {
      try {
        const whole = await answer(await this.#unpack(bytes));
        return this.#pack(whole, whole.length);
      } catch (error) {
        // Who asks, and has gone meanwhile, needs no answer.
        return error instanceof VectordError ? { whole: refuse(error) } : undefined;
      }
    };
    const hear = async (bytes: Uint8Array, reply: (bytes: Uint8Array) => void): Promise<void> => {
      this.#answering += 1;
      const packet = await answerOf(bytes);
      this.#answering -= 1;
      if (packet === undefined) return;
      if (packet.kept) setTimeout(() => this.#forget(packet), KEPT_MS).unref();
      reply(Packet.encode(packet).finish());
    };
    const queue = subject;
    this.#served.push(
      this.nats.subscribe(subject, (bytes, reply) => void hear(bytes, reply), queue),
    );
  }

  /** Takes no more questions. Resolves once the open ones are answered and fetched, or after CLOSE_MS. */
  async close(): Promise<void> {
    const endsAtMs = performance.now() + CLOSE_MS;
    // Without a connection they end with it.
    const ended = Promise.allSettled(this.#served.map(async (end) => await end()));
    await Promise.race([ended, sleep(CLOSE_MS, undefined, { ref: false })]);
    while (this.#answering + this.#kept.size > 0 && performance.now() < endsAtMs) {
      await sleep(LOOK_MS);
    }
  }

  /** The largest part of a packet that one message has. */
  get #mostBytes(): number {
    return Math.min(this.nats.maxPayload - ENVELOPE_BYTES, MOST_PIECE_BYTES);
  }

  /** @param reservedBytes what it takes of the budget if it is kept */
  #pack(bytes: Uint8Array, reservedBytes: number): Packet {
    if (bytes.length <= Math.min(this.#mostBytes, MOST_WHOLE_BYTES)) return { whole: bytes };
    this.budget.reserve(reservedBytes);
    this.#last = (this.#last + 1) >>> 0;
    this.#kept.set(this.#last, { bytes, left: bytes.length, reservedBytes });
    return { kept: { subject: this.#subject, number: this.#last, bytes: bytes.length } };
  }

  async #unpack(bytes: Uint8Array): Promise<Uint8Array> {
    const { whole, kept } = Packet.decode(bytes);
    return kept === undefined ? (whole ?? NOTHING) : await this.#fetch(kept);
  }

  #forget({ kept }: Packet): void {
    if (kept) this.#drop(kept.number);
  }

  #drop(number: number): void {
    const kept = this.#kept.get(number);
    if (kept === undefined) return;
    this.#kept.delete(number);
    this.budget.release(kept.reservedBytes);
  }

  async #fetch(kept: Packet_Kept): Promise<Uint8Array> {
    this.budget.reserve(kept.bytes);
    try {
      return await this.#fetchPieces(kept);
    } finally {
      this.budget.release(kept.bytes);
    }
  }

  async #fetchPieces({ subject, number, bytes }: Packet_Kept): Promise<Uint8Array> {
    const all = new Uint8Array(bytes);
    const step = this.#mostBytes;
    let next = 0;
    await inParallel(PIECES_AT_ONCE, async () => {
      if (next >= bytes) return false;
      const end = Math.min(next + step, bytes);
      let offset = next;
      next = end;
      // The server of who answers may take smaller messages.
      while (offset < end) {
        const question = PieceQuestion.encode({ number, offset, bytes: end - offset }).finish();
        const piece = await this.#fetches.take(
          async () => await this.nats.ask(subject, question, PIECE_MS),
        );
        if (piece.length === 0 || piece.length > end - offset) {
          throw new Error('a part of it is kept no longer');
        }
        all.set(piece, offset);
        offset += piece.length;
      }
      return true;
    });
    return all;
  }

  /** What cannot be read is not from a node: the client would leave the server for what is thrown here. */
  #hear(bytes: Uint8Array, answer: (piece: Uint8Array) => void): void {
    let question: PieceQuestion;
    try {
      question = PieceQuestion.decode(bytes);
    } catch {
      return;
    }
    answer(this.#piece(question));
  }

  /** Nothing where it is kept no longer. */
  #piece({ number, offset, bytes }: PieceQuestion): Uint8Array {
    const kept = this.#kept.get(number);
    if (kept === undefined) return NOTHING;
    const piece = kept.bytes.subarray(offset, offset + Math.min(bytes, this.#mostBytes));
    kept.left -= piece.length;
    if (kept.left <= 0) this.#drop(number);
    return piece;
  }
}
