import { messageOf } from '../core/start-error.js';
import type { Logger } from '../observe/logger.js';
import type { NodeState } from './node-state.js';
import type { Questions } from './questions.js';

const LOOK_MS = 5_000;

/**
 * Looks whether the replica of this node can go on with its log. It cannot if a record in it is damaged,
 * if the stream no longer has the next message, or if the other replicas have another history.
 */
export class LogCheck {
  readonly #looking: NodeJS.Timeout;
  #isLooking = false;
  #isClosed = false;

  /**
   * @param ownFault what is wrong with the log by itself, if something is
   * @param others the questions to so many others that the log of one of them can be taken
   * @param replicas how many there are
   * @param giveUp is called once, with the reason, where the log is to be given up
   */
  constructor(
    private readonly ownFault: () => string | undefined,
    private readonly state: Pick<NodeState, 'applied'>,
    private readonly others: Questions,
    private readonly replicas: number,
    private readonly logger: Logger,
    private readonly giveUp: (reason: string) => void,
  ) {
    this.#looking = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const reason = await this.#fault();
      if (reason === undefined || this.#isClosed) return;
      this.close();
      this.giveUp(reason);
    } catch (error) {
      this.logger.warn(
        { reason: messageOf(error) },
        'the replica of this node needs the log of another one, and too few of them answer',
      );
    } finally {
      this.#isLooking = false;
    }
  }

  /** Why the log is to be given up. Rejects where it is, but no other could be taken now. */
  async #fault(): Promise<string | undefined> {
    const own = this.ownFault();
    if (own !== undefined) {
      await this.others.positions();
      return own;
    }
    const { last } = this.state.applied;
    if (!(await this.others.differ(last, this.replicas))) return undefined;
    return `most replicas have another history up to message ${last.sequence} of the stream`;
  }
}
