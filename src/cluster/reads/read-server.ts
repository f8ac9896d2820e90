import { Reservation, type MemoryBudget } from '../../admission/memory-budget.js';
import { REAL_CLOCK } from '../../core/clock.js';
import { VectordError } from '../../core/errors.js';
import { find } from '../../core/find.js';
import { includeOf } from '../../core/include.js';
import { bytesOf } from '../../core/records.js';
import { describeQuery, describeSingle } from '../../core/rules.js';
import { messageOf } from '../../core/start-error.js';
import type { Engine } from '../../engine/native.js';
import { ReadQuestion, type ReadAnswer } from '../../gen/vectord/cluster/v1/cluster.js';
import { LogRateLimit } from '../../observe/log-rate-limit.js';
import type { Logger } from '../../observe/logger.js';
import { ReplicaState, type NodeState } from '../voting/node-state.js';
import { fromWirePosition, toWirePosition } from '../voting/outcome.js';
import { encodeAnswer, fromWireQueries, toWireFound, toWireRecords } from './read-messages.js';
import type { Reads } from './reads.js';

/** The other node does not tell when nobody waits for its answer any more. */
const goesOn = (): void => undefined;

/** What tells another node why its read is refused. */
export function refusalOf({ code, message }: VectordError): Uint8Array {
  return encodeAnswer({ refused: { code, message } });
}

/** Answers the reads of other nodes from the replica of this one. */
export class ReadServer {
  /** Whoever may publish in NATS can make many of them. */
  readonly #failures = new LogRateLimit(REAL_CLOCK);

  constructor(
    private readonly engine: Engine,
    private readonly reads: Reads,
    private readonly state: NodeState,
    private readonly budget: MemoryBudget,
    private readonly logger: Logger,
  ) {}

  /** The answer to a question, which is encoded as this is. */
  async answer(question: Uint8Array): Promise<Uint8Array> {
    // Until it is encoded, as that of a client.
    const taken = new Reservation(this.budget);
    try {
      const { after, ...read } = ReadQuestion.decode(question);
      // A replica that is not where its stream is would go back in time for who has asked another.
      const isFollowing = this.state.replica === ReplicaState.Following;
      const answer = await this.reads.readAfter(
        after && isFollowing ? fromWirePosition(after) : undefined,
        async () => await this.#read(read, taken),
      );
      return encodeAnswer({ ...answer, position: toWirePosition(this.reads.held) });
    } catch (error) {
      if (error instanceof VectordError) return refusalOf(error);
      const leftOut = this.#failures.next();
      if (leftOut !== undefined) {
        this.logger.error({ err: error, ...leftOut }, 'a read of another node has failed');
      }
      return refusalOf(new VectordError('INTERNAL', messageOf(error)));
    } finally {
      taken.end();
    }
  }

  async #read(
    { getMany, find: search, count, scroll }: Omit<ReadQuestion, 'after'>,
    taken: Reservation,
  ): Promise<Partial<ReadAnswer>> {
    const { engine } = this;
    if (search !== undefined) {
      const describe = search.isList ? describeQuery : describeSingle;
      const include = includeOf(search.include);
      const queries = fromWireQueries(search);
      const found = await find(engine, queries, include, search.maxBytes, describe, goesOn);
      taken.take(bytesOf(found.records));
      return toWireFound(found);
    }
    if (getMany !== undefined) {
      const { ids, include, maxBytes } = getMany;
      const { records, found } = await engine.getMany(ids, includeOf(include), maxBytes, goesOn);
      taken.take(bytesOf(records));
      return { records: toWireRecords(records), found };
    }
    if (count?.toDelete === true && count.filter !== undefined) {
      await engine.findToDelete(count.filter);
      return {};
    }
    if (count?.givesBack === true && count.filter !== undefined) {
      await engine.giveBackFound(count.filter);
      return {};
    }
    if (count !== undefined) return { count: await engine.count(count.filter, goesOn) };
    if (scroll !== undefined) {
      const include = includeOf(scroll.include);
      const { records, next } = await engine.scroll({ ...scroll, include }, goesOn);
      taken.take(bytesOf(records));
      return { records: toWireRecords(records), next };
    }
    throw new VectordError(
      'INTERNAL',
      'a read is not known to this node: run one version of vectord on all nodes',
    );
  }
}
