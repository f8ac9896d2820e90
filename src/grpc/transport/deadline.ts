/** Milliseconds in each unit of `grpc-timeout`. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** The longest that a timer of Node.js waits. A longer deadline, of 24 days and more, has none. */
const LONGEST_MS = 2 ** 31 - 1;

/** Until when a client waits for the answer to a call. */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly timeoutMs: number,
    private readonly endsAtMs = performance.now() + timeoutMs,
  ) {}

  /** The deadline of a `grpc-timeout` header; nothing if it is malformed. */
  static parse(text: string): Deadline | undefined {
    const [, digits = '', unit = ''] = TIMEOUT.exec(text) ?? [];
    const unitMs = UNITS.get(unit);
    if (unitMs === undefined) return undefined;
    return new Deadline(Number(digits) * unitMs);
  }

  /** The timer of a busy loop is late: this is not. Less than a millisecond is over by now. */
  get hasPassed(): boolean {
    return this.timeoutMs < 1 || performance.now() > this.endsAtMs;
  }

  start(onPassed: () => void): void {
    if (this.timeoutMs <= LONGEST_MS) this.#timer = setTimeout(onPassed, this.timeoutMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
