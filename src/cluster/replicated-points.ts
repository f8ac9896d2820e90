import { VectordError } from '../core/errors.js';
import type { NewPoint } from '../core/model.js';
import type { PointBatch } from '../core/point-batch.js';
import { POINT_ID_BYTES, type PointId, type PointIds } from '../core/point-id.js';
import type { Points, PointsStatus } from '../core/points.js';
import type { EngineQuery } from '../core/query-batch.js';
import type { Found, Gathered, Page, UpdateBatch, UpsertBatch, Upserted } from '../core/records.js';
import type { DescribeItem } from '../core/rules.js';
import type { Engine } from '../engine/native.js';
import { ENVELOPE_BYTES } from './message.js';
import type { Nats } from './nats.js';
import { ReplicaState, type NodeState } from './node-state.js';
import type { Reads } from './reads.js';
import type { Writes } from './writes.js';

/** The longest that it may take to find the points of a delete by filter, as on one machine. */
const LONGEST_FILTER_MS = 30_000;

/** Points of which other nodes hold replicas: written through the stream, read from the own replica. */
export class ReplicatedPoints implements Points {
  constructor(
    private readonly engine: Engine,
    private readonly writes: Writes,
    private readonly reads: Reads,
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

  /** Replicas take any time to find the points: what would take too long is refused before. */
  async deleteMatching(filter: string): Promise<number> {
    const begunAtMs = performance.now();
    await this.engine.count(filter, () => undefined);
    if (performance.now() - begunAtMs > LONGEST_FILTER_MS) throw takesLong();
    const { deleted } = await this.writes.write(this.engine.messages.deleteMatching(filter), false);
    return deleted;
  }

  async deleteAll(expected: number): Promise<void> {
    await this.writes.write(this.engine.messages.deleteAll(expected), false);
  }

  async get(id: PointId): Promise<NewPoint | undefined> {
    return await this.reads.read(() => this.engine.get(id));
  }

  async search(query: EngineQuery): Promise<PointIds | undefined> {
    return await this.reads.read(() => this.engine.search(query));
  }

  async searchBatch(...call: Parameters<Points['searchBatch']>): Promise<PointIds[]> {
    return await this.reads.read(async () => await this.engine.searchBatch(...call));
  }

  async getMany(...call: Parameters<Points['getMany']>): Promise<Gathered> {
    return await this.reads.read(async () => await this.engine.getMany(...call));
  }

  async count(...call: Parameters<Points['count']>): Promise<number> {
    return await this.reads.read(async () => await this.engine.count(...call));
  }

  async scroll(...call: Parameters<Points['scroll']>): Promise<Page> {
    return await this.reads.read(async () => await this.engine.scroll(...call));
  }

  async find(...call: Parameters<Points['find']>): Promise<Found | undefined> {
    return await this.reads.read(() => this.engine.find(...call));
  }

  async findBatch(...call: Parameters<Points['findBatch']>): Promise<Found> {
    return await this.reads.read(async () => await this.engine.findBatch(...call));
  }

  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return this.engine.searchWork(limits, efs);
  }

  status(): PointsStatus {
    return { ...this.engine.status(), faults: this.#faults() };
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
        'the replica of this node is not where its stream is, and reads wait for it: the log says why',
      );
    } else if (replica === ReplicaState.Stopped) {
      faults.push('the replica of this node has stopped: the log says why');
    }
    return faults;
  }
}

function takesLong(): VectordError {
  return new VectordError(
    'INVALID_ARGUMENT',
    `it takes more than ${LONGEST_FILTER_MS / 1_000} s to find the points of this filter: delete by ` +
      'the ids that a scroll with the filter lists',
  );
}
