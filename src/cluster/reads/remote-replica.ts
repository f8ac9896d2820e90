import { isErrorCode, VectordError } from '../../core/errors.js';
import { bitsOf } from '../../core/include.js';
import type { PointIds } from '../../core/point-id.js';
import type {
  Found,
  Gathered,
  Include,
  NeighbourQueries,
  Page,
  PageRequest,
} from '../../core/records.js';
import type { DescribeItem } from '../../core/rules.js';
import { messageOf } from '../../core/start-error.js';
import { ReadAnswer } from '../../gen/vectord/cluster/v1/cluster.js';
import { fromWirePosition } from '../voting/outcome.js';
import type { Packets } from '../nats/packets.js';
import {
  encodeQuestion,
  fromWireFound,
  fromWireRecords,
  toWireQueries,
  type Read,
} from './read-messages.js';
import { ReplicaFault, type ReplicaReads } from './replica-reads.js';
import type { Session } from './session.js';

/** An answer is waited for no longer. */
const LONGEST_MS = 30_000;

/** The replica of another node, which is asked over NATS. */
export class RemoteReplica implements ReplicaReads {
  constructor(
    private readonly packets: Packets,
    private readonly subject: string,
    private readonly session: Session,
  ) {}

  async getMany(ids: PointIds, include: Include, maxBytes: number): Promise<Gathered> {
    const { records, found } = await this.#ask({
      getMany: { ids, include: bitsOf(include), maxBytes },
    });
    return { records: fromWireRecords(records), found };
  }

  async count(filter: string | undefined): Promise<number> {
    return (await this.#ask({ count: { filter, toDelete: false, givesBack: false } })).count;
  }

  async findToDelete(filter: string): Promise<void> {
    await this.#ask({ count: { filter, toDelete: true, givesBack: false } });
  }

  async giveBackFound(filter: string): Promise<void> {
    await this.#ask({ count: { filter, toDelete: false, givesBack: true } });
  }

  async scroll(request: PageRequest): Promise<Page> {
    const { after, limit, newestFirst, filter, include, maxBytes } = request;
    const { records, next } = await this.#ask({
      scroll: { after, limit, newestFirst, filter, include: bitsOf(include), maxBytes },
    });
    return { records: fromWireRecords(records), next };
  }

  async findBatch(
    queries: NeighbourQueries,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
  ): Promise<Found> {
    const isList = describe(0) !== '';
    const asked = { ...toWireQueries(queries), include: bitsOf(include), maxBytes, isList };
    return fromWireFound(await this.#ask({ find: asked }));
  }

  async #ask(read: Read): Promise<ReadAnswer> {
    const question = encodeQuestion(read, this.session.after);
    let answer: ReadAnswer;
    try {
      answer = ReadAnswer.decode(await this.packets.ask(this.subject, question, LONGEST_MS));
    } catch (error) {
      // There is no room for the answer here.
      if (error instanceof VectordError) throw error;
      const reason = messageOf(error);
      throw new ReplicaFault(`a replica does not answer: ${reason}`, { cause: error });
    }
    if (answer.refused !== undefined) throw toError(answer.refused);
    this.session.note(fromWirePosition(answer.position));
    return answer;
  }
}

function toError({ code, message }: { code: string; message: string }): VectordError {
  if (code === 'UNAVAILABLE') return new ReplicaFault(message);
  return new VectordError(isErrorCode(code) ? code : 'INTERNAL', message);
}
