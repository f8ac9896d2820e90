/** How long one turn of the loop begins new requests; the sockets are looked at between turns. */
const TURN_MS = 10;

/**
 * So many requests begin before the clock is looked at, which is a turn of its own: what is done
 * on the loop for one takes a millisecond at the most, a large one aside.
 */
const UNTIMED = 8;

/** Every so many turns the connection is next that has waited longest, however long its line. */
const FAIR_TURN = 4;

/** A request that waits. */
interface Waiting {
  readonly begin: () => void;
  /** Whether anybody still waits for its answer. */
  readonly isWanted: () => boolean;
}

/** The requests of a connection that wait. */
interface Line {
  readonly waiting: Waiting[];
  /** Others of it that have not come here yet. */
  readonly behind: readonly unknown[];
}

/**
 * Has requests wait when the loop has been answering for a while. One read of a socket can bring
 * hundreds of them: begun one after the other, they would keep all others waiting. Of those that
 * wait the connection with the shortest line is next: who floods the service delays himself, and
 * who asks little hardly notices.
 */
export class RequestScheduler {
  readonly #lines = new Map<unknown, Line>();
  #isUnderWay = false;
  #turnEndsAtMs = 0;
  #turns = 0;
  #untimed = 0;

  /**
   * Nothing when the request may begin at once; else what resolves when it may, or when it is not
   * wanted any more, which takes no turn. `behind` are those of its connection that wait for this
   * one.
   */
  turn(
    connection: unknown,
    isWanted: () => boolean = always,
    behind: readonly unknown[] = [],
  ): Promise<void> | undefined {
    if (!this.#isUnderWay) {
      this.#untimed += 1;
      if (this.#untimed <= UNTIMED) return undefined;
      this.#beginTurn();
    }
    if (this.#lines.size === 0 && performance.now() < this.#turnEndsAtMs) return undefined;
    return new Promise((begin) => {
      const line = this.#lines.get(connection) ?? { waiting: [], behind };
      line.waiting.push({ begin, isWanted });
      this.#lines.set(connection, line);
    });
  }

  #beginTurn(): void {
    this.#isUnderWay = true;
    this.#turnEndsAtMs = performance.now() + TURN_MS;
    setImmediate(() => this.#endTurn());
  }

  /** One that waits is begun at the end of each turn, so that the loop looks around in between. */
  #endTurn(): void {
    this.#isUnderWay = false;
    this.#untimed = 0;
    while (this.#lines.size > 0 && !this.#isUnderWay) {
      const connection = this.#next();
      const line = this.#lines.get(connection);
      const next = line?.waiting.shift();
      if (next?.isWanted() === true) this.#beginTurn();
      next?.begin();
      // Behind all others now, which is what a fair turn goes by.
      this.#lines.delete(connection);
      if (line !== undefined && line.waiting.length > 0) this.#lines.set(connection, line);
    }
  }

  #next(): unknown {
    this.#turns += 1;
    let found: unknown;
    let shortest = Infinity;
    for (const [connection, { waiting, behind }] of this.#lines) {
      if (this.#turns % FAIR_TURN === 0) return connection;
      const length = waiting.length + behind.length;
      if (length >= shortest) continue;
      found = connection;
      shortest = length;
    }
    return found;
  }
}

function always(): boolean {
  return true;
}
