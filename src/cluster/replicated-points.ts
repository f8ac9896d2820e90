import { VectordError } from '../core/errors.js';
import { IDS_ALONE } from '../core/include.js';
import type { NewPoint } from '../core/model.js';
import { noPageToken, type PageToken } from '../core/page-token.js';
import type { PointBatch } from '../core/point-batch.js';
import { POINT_ID_BYTES, type PointId, type PointIds } from '../core/point-id.js';
import type { Points, PointsStatus, Soon } from '../core/points.js';
import { idsOfEach, type EngineQuery } from '../core/query-batch.js';
import {
  ANY_BYTES,
  type Found,
  type Gathered,
  type Page,
  type PageRequest,
  type UpdateBatch,
  type UpsertBatch,
  type Upserted,
} from '../core/records.js';
import type { OnRequestEnd } from '../core/request-end.js';
import type { DescribeItem } from '../core/rules.js';
import { asNeighbourQueries } from '../core/searches.js';
import type { Engine } from '../engine/native.js';
import { LEAST_FREE_BYTES } from '../observe/folder-size.js';
import { ENVELOPE_BYTES, isClockOff } from './nats/message.js';
import type { Nats } from './nats/nats.js';
import { ReplicaState, type NodeState } from './voting/node-state.js';
import type { OtherReplicas, ReadKind } from './reads/other-replicas.js';
import { firstPoint, PLAIN } from './reads/plain-point.js';
import type { Reads } from './reads/reads.js';
import { isOfReplica, ReplicaFault, type ReplicaReads } from './reads/replica-reads.js';
import { majorityOf } from './voting/quorum.js';
import type { Writes } from './writes.js';

/** The longest that it may take to find the points of a delete by filter, as on one machine. */
const LONGEST_FILTER_MS = 30_000;

type FindsToDelete = Pick<ReplicaReads, 'findToDelete' | 'giveBackFound'>;

/** The replica of a shard that this node has. */
export interface OwnReplica {
  /** Its place in the list of the replicas. */
  readonly number: number;
  readonly reads: Reads;
}

/**
 * Points of a shard: written through its stream; read from the replica of this node, and from that of
 * another one where there is none or where it cannot answer.
 */
export class ReplicatedPoints implements Points {
  /** @param engine that of this node, which holds its replica if it has one of this shard */
  constructor(
    private readonly engine: Engine,
    private readonly own: OwnReplica | undefined,
    private readonly others: OtherReplicas,
    private readonly writes: Writes,
    private readonly nats: Nats,
    private readonly state: NodeState,
  ) {}

  async insert(batch: PointBatch, describe: DescribeItem): Promise<void> {
    await this.writes.write(this.engine.messages.insert(batch, describe), true);
  }

  async upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Promise<Upserted> {
    const message = this.engine.messages.upsert(batch, keeps, describe);
    const { stored, replaced, kept } = await this.writes.write(message, true);
    return { stored, replaced, kept };
  }

  async update(batch: UpdateBatch): Promise<Uint8Array> {
    this.#checkCount(batch.ids);
    const { found } = await this.writes.write(this.engine.messages.update(batch), true);
    return found;
  }

  async delete(id: PointId): Promise<boolean> {
    const found = await this.deleteMany(id);
    return found[0] === 1;
  }

  async deleteMany(ids: PointIds): Promise<Uint8Array> {
    this.#checkCount(ids);
    const { found } = await this.writes.write(this.engine.messages.deleteMany(ids), false);
    return found;
  }

  /**
   * The replicas find the points before the message is sent, as their writers take any time for what is
   * left: as many replicas as the write needs. What would take too long is refused. They give back what
   * they have found where the message certainly does not come.
   */
  async deleteMatching(filter: string): Promise<number> {
    const begunAtMs = performance.now();
    const find = async (replica: FindsToDelete): Promise<FindsToDelete> => {
      await replica.findToDelete(filter);
      return replica;
    };
    const finding = this.others.askEach(find);
    if (this.own !== undefined) finding.push(find(this.engine));
    try {
      await fulfilled(finding, majorityOf(finding.length));
      if (performance.now() - begunAtMs > LONGEST_FILTER_MS) throw takesLong();
      const change = this.engine.messages.deleteMatching(filter);
      const { deleted } = await this.writes.write(change, false);
      return deleted;
    } catch (error) {
      if (!(error instanceof VectordError) || error.code !== 'OUTCOME_UNKNOWN') {
        for (const found of finding) {
          // One that is not told keeps it for a minute.
          found.then(async (replica) => await replica.giveBackFound(filter)).catch(() => undefined);
        }
      }
      throw error;
    }
  }

  async deleteAll(expected: number): Promise<void> {
    await this.writes.write(this.engine.messages.deleteAll(expected), false);
  }

  async get(id: PointId): Promise<NewPoint | undefined> {
    return await this.#read(
      'get',
      () => this.engine.get(id),
      async (replica) => firstPoint(await replica.getMany(id, PLAIN, ANY_BYTES, goesOn)),
    );
  }

  async search(query: EngineQuery): Promise<PointIds | undefined> {
    return await this.#readAtOnce(() => this.engine.search(query));
  }

  async searchBatch(...call: Parameters<Points['searchBatch']>): Promise<PointIds[]> {
    return await this.#read(
      'search',
      () => this.engine.searchBatch(...call),
      async (replica) => {
        const [batch, ...rest] = call;
        const queries = asNeighbourQueries(batch);
        const { counts, records } = await replica.findBatch(queries, IDS_ALONE, ANY_BYTES, ...rest);
        return idsOfEach(counts, records.ids);
      },
    );
  }

  async getMany(...call: Parameters<Points['getMany']>): Promise<Gathered> {
    return await this.#read(
      'get',
      () => this.engine.getMany(...call),
      (replica) => replica.getMany(...call),
    );
  }

  async count(...call: Parameters<Points['count']>): Promise<number> {
    const [filter] = call;
    return await this.#read(
      filter === undefined ? 'get' : 'other',
      () => this.engine.count(...call),
      (replica) => replica.count(...call),
    );
  }

  /** What a page is behind means something to the replica alone that has answered it. */
  async scroll({ after, ...request }: PageRequest, onRequestEnd: OnRequestEnd): Promise<Page> {
    const behind = after && replicaToken(after);
    const page = async (replica: ReplicaReads, number: number): Promise<Page> => {
      const { records, next } = await replica.scroll(
        { ...request, after: behind?.token },
        onRequestEnd,
      );
      return { records, next: next && Uint8Array.of(number, ...next) };
    };
    const { own } = this;
    const ownPage = async (): Promise<Page> => await page(this.engine, own?.number ?? 0);
    if (behind === undefined) return await this.#read('other', ownPage, page);
    if (own?.number === behind.number) return await own.reads.read(ownPage);
    return await this.others.readFrom(behind.number, page);
  }

  async find(...call: Parameters<Points['find']>): Promise<Found | undefined> {
    return await this.#readAtOnce(() => this.engine.find(...call));
  }

  async findBatch(...call: Parameters<Points['findBatch']>): Promise<Found> {
    return await this.#read(
      'search',
      () => this.engine.findBatch(...call),
      (replica) => replica.findBatch(...call),
    );
  }

  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return this.engine.searchWork(limits, efs);
  }

  /** Of a shard without a replica here it is taken to have as many points as that of this node. */
  status(): PointsStatus {
    const status = this.engine.status();
    if (this.own === undefined) return { points: status.points, isFull: false };
    return { ...status, faults: this.#faults() };
  }

  /** Whether most replicas have said that their disks are full. */
  isFull(): boolean {
    return this.writes.areFull;
  }

  /** Whether its last writes had no outcome. */
  isSilent(): boolean {
    return this.writes.areSilent;
  }

  async #read<Answer>(
    kind: ReadKind,
    own: () => Soon<Answer>,
    other: (replica: ReplicaReads, number: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { own: replica, others } = this;
    const fromOwn = async (): Promise<Answer> => {
      if (replica === undefined) throw new ReplicaFault('this node has no replica of the shard');
      return await replica.reads.read(own);
    };
    const fromOther = async (): Promise<Answer> => await others.read(kind, other);
    const [first, second] = this.#isOwnFirst ? [fromOwn, fromOther] : [fromOther, fromOwn];
    try {
      return await first();
    } catch (error) {
      if (!isOfReplica(error) || replica === undefined || !others.areThere) throw error;
      return await second();
    }
  }

  /** The answer of the own replica, if it can give one and none of the others is to be asked. */
  async #readAtOnce<Answer>(own: () => Soon<Answer>): Promise<Answer | undefined> {
    if (this.own === undefined || !this.#isOwnFirst) return undefined;
    try {
      return await this.own.reads.read(own);
    } catch (error) {
      if (isOfReplica(error) && this.others.areThere) return undefined;
      throw error;
    }
  }

  /** The replica of this node would be waited for where it is behind. */
  get #isOwnFirst(): boolean {
    if (this.own === undefined) return false;
    const isBehind = this.state.replica !== ReplicaState.Following && this.nats.isConnected;
    return !isBehind || !this.others.areThere;
  }

  /** The outcome has a byte for each id, and has to fit into a message. */
  #checkCount(ids: PointIds): void {
    const count = ids.length / POINT_ID_BYTES;
    const most = this.nats.maxPayload - ENVELOPE_BYTES;
    if (count <= most) return;
    throw new VectordError(
      'TOO_LARGE',
      `there are ${count} ids, expected at most ${most} in a cluster (max_payload of the NATS servers): ` +
        'send them in several requests',
    );
  }

  #faults(): string[] {
    const faults: string[] = [];
    if (!this.nats.isConnected) {
      faults.push(
        'no NATS server of the cluster is connected: writes and strong reads wait for one',
      );
    }
    const { replica } = this.state;
    if (replica === ReplicaState.Behind) {
      faults.push(
        'the replica of this node is not where its stream is, and is not read if another answers: ' +
          'the log says why',
      );
    } else if (replica === ReplicaState.Stopped) {
      faults.push('the replica of this node has stopped: the log says why');
    }
    if (this.state.isDiskFull) {
      faults.push(
        `less than ${LEAST_FREE_BYTES / 1024 ** 2} MiB are left on the disk of this node: free some space ` +
          'there; inserts are refused while most nodes of the shard have no more',
      );
    }
    const { clockOffMs } = this.state;
    if (isClockOff(clockOffMs)) {
      const seconds = Math.round(Math.abs(clockOffMs) / 1_000);
      faults.push(
        `the clock of this node is ${seconds} s ${clockOffMs > 0 ? 'ahead of' : 'behind'} that of the NATS ` +
          'servers, and writes through it are refused: keep all clocks by NTP',
      );
    }
    return faults;
  }
}

/** Waits until so many are fulfilled; throws the reason of another where they can no longer be. */
async function fulfilled(promises: readonly Promise<unknown>[], count: number): Promise<void> {
  let missing = count;
  let spare = promises.length - count;
  await new Promise<void>((resolve, reject) => {
    for (const promise of promises) {
      promise.then(
        () => (missing -= 1) === 0 && resolve(),
        (error: unknown) => (spare -= 1) < 0 && reject(error as Error),
      );
    }
  });
}

const goesOn = (): void => undefined;

/** The replica that answered a page, and what it calls the next. */
function replicaToken(token: PageToken): { number: number; token: PageToken } {
  const [number] = token;
  if (number === undefined) throw noPageToken();
  return { number, token: token.subarray(1) };
}

function takesLong(): VectordError {
  return new VectordError(
    'INVALID_ARGUMENT',
    `it takes more than ${LONGEST_FILTER_MS / 1_000} s to find the points of this filter: delete by ` +
      'the ids that a scroll with the filter lists',
  );
}
