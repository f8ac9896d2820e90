import type { OnRequestEnd } from '../core/request-end.js';
import type { Rules } from '../core/rules.js';
import type { Steps } from '../observe/tracing.js';
import { AT_ONCE_FIELDS, TooManyFields } from './parse-budget.js';
import { PARSERS, type Answer, type ParserName } from './parsers.js';

/** To look at so much takes a tenth of a millisecond, whatever it is. */
const LARGE_BYTES = 128 * 1024;

/** What a request holds is to be read by this parser. */
export interface Task {
  readonly name: ParserName;
  readonly bytes: Uint8Array;
}

/** Reads what takes long, where no loop waits for it. */
export interface LargeReader {
  /**
   * What the parser answers. Rejects with a VectordError where the request is not what it should be,
   * or ends before it is read. The bytes are not to be used afterwards.
   */
  read(task: Task, onRequestEnd: OnRequestEnd): Promise<object>;
}

/**
 * Reads what requests hold: small ones at once, large ones, and small ones that are cut into very
 * many pieces, elsewhere, because nobody else is served while this thread reads.
 */
export class Decoder {
  constructor(
    private readonly rules: Rules,
    private readonly large: LargeReader,
    /** Undefined where traces are off. */
    private readonly steps?: Steps | undefined,
  ) {}

  /**
   * What the request in `bytes` holds, at once where that is possible. Throws, or rejects with, a
   * VectordError where it is not what it should be. The bytes are not to be used afterwards.
   */
  decode<Name extends ParserName>(
    name: Name,
    bytes: Uint8Array,
    onRequestEnd: OnRequestEnd,
  ): Answer<Name> | Promise<Answer<Name>> {
    const { steps } = this;
    const answer =
      steps === undefined
        ? this.#read(name, bytes, onRequestEnd)
        : steps.step('decode', () => this.#read(name, bytes, onRequestEnd));
    return answer as Answer<Name> | Promise<Answer<Name>>;
  }

  #read(name: ParserName, bytes: Uint8Array, onRequestEnd: OnRequestEnd): object {
    return this.#readAtOnce(name, bytes) ?? this.large.read({ name, bytes }, onRequestEnd);
  }

  #readAtOnce(name: ParserName, bytes: Uint8Array): Answer<ParserName> | undefined {
    if (bytes.length >= LARGE_BYTES) return undefined;
    try {
      return PARSERS[name](bytes, this.rules, AT_ONCE_FIELDS);
    } catch (error) {
      if (error instanceof TooManyFields) return undefined;
      throw error;
    }
  }
}
