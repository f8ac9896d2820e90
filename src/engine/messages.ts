import type native from '../../native/index.cjs';
import type { PointBatch } from '../core/point-batch.js';
import type { PointIds } from '../core/point-id.js';
import type { UpdateBatch, UpsertBatch } from '../core/records.js';
import type { DescribeItem } from '../core/rules.js';
import { translate } from './errors.js';

const NOTHING = new Uint8Array();
const NO_ENDS = new Uint32Array();

/**
 * Changes as bytes, which `Engine.apply` takes: one method for each kind of change of `Points`. What
 * the engine would refuse throws a VectordError.
 */
export class Messages {
  constructor(private readonly engine: native.NativeEngine) {}

  /** Points with ids that have just been drawn. */
  insert(batch: PointBatch, describe: DescribeItem): Uint8Array {
    return this.upsert({ ...batch, metadata: NOTHING, metadataEnds: NO_ENDS }, true, describe);
  }

  upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Uint8Array {
    const { ids, vectors, contentTypes, contents, contentEnds, metadata, metadataEnds } = batch;
    return translate(
      () =>
        this.engine.messageOfPoints(
          ids,
          vectors,
          contentTypes,
          contents,
          contentEnds,
          metadata,
          metadataEnds,
          keeps,
        ),
      describe,
    );
  }

  update(batch: UpdateBatch): Uint8Array {
    const { ids, given, contentTypes, contents, contentEnds, metadata, metadataEnds } = batch;
    return translate(() =>
      this.engine.messageOfUpdate(
        ids,
        given,
        contentTypes,
        contents,
        contentEnds,
        metadata,
        metadataEnds,
      ),
    );
  }

  deleteMany(ids: PointIds): Uint8Array {
    return translate(() => this.engine.messageOfDelete(ids));
  }

  deleteMatching(filter: string): Uint8Array {
    return translate(() => this.engine.messageOfDeleteMatching(filter));
  }

  deleteAll(expected: number): Uint8Array {
    return translate(() => this.engine.messageOfDeleteAll(expected));
  }
}
