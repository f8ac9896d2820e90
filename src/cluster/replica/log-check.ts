import { messageOf } from '../../core/start-error.js';
import type { Logger } from '../../observe/logger.js';
import type { NodeState } from '../voting/node-state.js';
import type { Questions } from '../voting/questions.js';

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
   * @param damage what is damaged in the log, if something is
   * @param cutOff says that the stream no longer has the next message, if so
   * @param others questions to enough others that the log of one of them can be taken
   * @param replicas how many there are
   * @param giveUp is called once, with the reason, where the log is to be given up
   */
  constructor(
    private readonly damage: () => string | undefined,
    private readonly cutOff: () => string | undefined,
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
    // Without others there is no other log.
    if (this.#isLooking || this.replicas === 1) return;
    this.#isLooking = true;
    try {
      const reason = await this.#fault();
      if (reason === undefined || this.#isClosed) return;
      this.giveUp(reason);
      this.close();
    } catch (error) {
      this.logger.warn(
        { reason: messageOf(error) },
        'this node needs the points of another node, and cannot fetch them now: trying again',
      );
    } finally {
      this.#isLooking = false;
    }
  }

  /** Why the log is to be given up. Rejects where it is, but no other could be taken now. */
  async #fault(): Promise<string | undefined> {
    const { last } = this.state.applied;
    const own = this.damage() ?? this.cutOff();
    if (own !== undefined) {
      const others = await this.others.positions().catch((cause: unknown) => {
        throw new Error(`${own}, and the others cannot be asked: ${messageOf(cause)}`, { cause });
      });
      // If no other replica has more, all are cut off: the log of another does not help.
      const isFurther = others.some(({ sequence }) => sequence > last.sequence);
      if (this.damage() === undefined && !isFurther) {
        throw new Error(
          `${own}, and no other node has more: if this stays so, docs/CLUSTER.md says how to make a new ` +
            'cluster',
        );
      }
      return own;
    }
    if (!(await this.others.differ(last, this.replicas))) return undefined;
    return `most replicas have another history up to message ${last.sequence} of the stream`;
  }
}
