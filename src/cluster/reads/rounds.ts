import { setTimeout as sleep } from 'node:timers/promises';

/** Shares questions: all who call `join` before a question is asked get its answer. */
export class Rounds<Answer> {
  #next: Promise<Answer> | undefined;
  #begunAtMs = -Infinity;

  /**
   * @param ask asks a question, and resolves with the answer
   * @param pauseMs from one question to the next
   */
  constructor(
    private readonly ask: () => Promise<Answer>,
    private readonly pauseMs: number,
  ) {}

  /** The answer to a question that is asked after this call. */
  async join(): Promise<Answer> {
    this.#next ??= this.#begin();
    return await this.#next;
  }

  async #begin(): Promise<Answer> {
    const waitMs = this.#begunAtMs + this.pauseMs - performance.now();
    await (waitMs > 0 ? sleep(waitMs) : undefined);
    this.#begunAtMs = performance.now();
    this.#next = undefined;
    return await this.ask();
  }
}
