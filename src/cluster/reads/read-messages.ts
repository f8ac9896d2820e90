import type { StreamPosition } from '../../engine/native.js';
import {
  ReadAnswer,
  ReadQuestion,
  type ReadAnswer_Records,
  type ReadQuestion_Find,
} from '../../gen/vectord/cluster/v1/cluster.js';
import type { Found, NeighbourQueries, Records } from '../../core/records.js';
import { toWirePosition } from '../voting/outcome.js';

/** What is asked: one of these. */
export type Read = Partial<Omit<ReadQuestion, 'after'>>;

export function encodeQuestion(read: Read, after: StreamPosition | undefined): Uint8Array {
  return ReadQuestion.encode({ ...read, after: after && toWirePosition(after) }).finish();
}

export function encodeAnswer(answer: Partial<ReadAnswer>): Uint8Array {
  return ReadAnswer.encode({ ...EMPTY, ...answer }).finish();
}

/** The queries of a question, as a message has them. */
export function toWireQueries(
  queries: NeighbourQueries,
): Omit<ReadQuestion_Find, 'include' | 'maxBytes' | 'isList'> {
  const { vectors, similarities, limits, efs, maxDistances, likes, filters } = queries;
  return {
    vectors: toBytes(vectors),
    similarities,
    limits: toBytes(limits),
    efs: toBytes(efs),
    maxDistances: toBytes(maxDistances),
    likes,
    filters: filters.texts,
    filterEnds: toBytes(filters.ends),
  };
}

export function fromWireQueries(find: ReadQuestion_Find): NeighbourQueries {
  return {
    vectors: new Float32Array(own(find.vectors)),
    similarities: find.similarities,
    limits: new Uint32Array(own(find.limits)),
    efs: new Uint32Array(own(find.efs)),
    maxDistances: new Float64Array(own(find.maxDistances)),
    likes: find.likes,
    filters: { texts: find.filters, ends: new Uint32Array(own(find.filterEnds)) },
  };
}

export function toWireRecords(records: Records): ReadAnswer_Records {
  const { vectors, contentEnds, metadataEnds } = records;
  return {
    ...records,
    vectors: toBytes(vectors),
    contentEnds: toBytes(contentEnds),
    metadataEnds: toBytes(metadataEnds),
  };
}

export function fromWireRecords(records: ReadAnswer_Records | undefined): Records {
  const { vectors, contentEnds, metadataEnds, ...bytes } = records ?? NO_RECORDS;
  return {
    ...bytes,
    vectors: new Float32Array(own(vectors)),
    contentEnds: new Uint32Array(own(contentEnds)),
    metadataEnds: new Uint32Array(own(metadataEnds)),
  };
}

export function toWireFound({ counts, distances, records }: Found): Partial<ReadAnswer> {
  return {
    counts: toBytes(counts),
    distances: toBytes(distances),
    records: toWireRecords(records),
  };
}

export function fromWireFound({ counts, distances, records }: ReadAnswer): Found {
  return {
    counts: new Uint32Array(own(counts)),
    distances: new Float64Array(own(distances)),
    records: fromWireRecords(records),
  };
}

function toBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Memory of their own: within a message numbers may begin anywhere. */
function own(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

const NOTHING = new Uint8Array();

const EMPTY: ReadAnswer = {
  found: NOTHING,
  counts: NOTHING,
  distances: NOTHING,
  count: 0,
};

const NO_RECORDS: ReadAnswer_Records = {
  ids: NOTHING,
  vectors: NOTHING,
  contentTypes: NOTHING,
  contents: NOTHING,
  contentEnds: NOTHING,
  metadata: NOTHING,
  metadataEnds: NOTHING,
};
