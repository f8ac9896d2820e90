import { MemoryBudget } from '../admission/memory-budget.js';
import { SharedCount } from '../admission/shared-count.js';

/**
 * How many calls may be open: on all connections together, each call taking some 10 KiB besides
 * its message, and on any connection, however many the others have. A call to a method that needs
 * a key is closed at once without one; health and reflection are for everyone, and a watch goes on
 * for as long as its client likes.
 */
const LIMITS = {
  keyed: { most: 4_096, fair: 16 },
  open: { most: 1_024, fair: 4 },
} as const;

/**
 * What all calls without a key together may take, their answers included. It is no part of the
 * budget of those who have a key, which nobody without one may use up.
 */
const MAX_OPEN_BYTES = 32 * 1024 * 1024;

/** A call to a method that needs a key, or to one that is open to everyone. */
export type CallKind = keyof typeof LIMITS;

/** Where the calls of all loops are counted, in a form that another thread can be sent. */
export interface OpenCallsMemory {
  readonly keyed: SharedArrayBuffer;
  readonly open: SharedArrayBuffer;
  readonly openBytes: SharedArrayBuffer;
}

/** The calls that are open, on all loops. */
export class OpenCalls {
  readonly #counts: Readonly<Record<CallKind, SharedCount>>;
  readonly #openBytes: SharedCount;
  /** That of the calls that are open to everyone. */
  readonly budget: MemoryBudget;

  /** Counts where another loop does, or anew. */
  constructor(memory?: OpenCallsMemory) {
    this.#counts = { keyed: new SharedCount(memory?.keyed), open: new SharedCount(memory?.open) };
    this.#openBytes = new SharedCount(memory?.openBytes);
    this.budget = new MemoryBudget(MAX_OPEN_BYTES, 0, this.#openBytes);
  }

  get memory(): OpenCallsMemory {
    const { keyed, open } = this.#counts;
    return { keyed: keyed.memory, open: open.memory, openBytes: this.#openBytes.memory };
  }

  /** Whether a connection that has so many of this kind may have one more. */
  mayBegin(kind: CallKind, ownCalls: number): boolean {
    const { most, fair } = LIMITS[kind];
    return this.#counts[kind].value < most || ownCalls < fair;
  }

  begin(kind: CallKind): void {
    this.#counts[kind].add(1);
  }

  end(kind: CallKind): void {
    this.#counts[kind].add(-1);
  }
}
