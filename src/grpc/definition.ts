import { Empty } from '../gen/google/protobuf/empty.js';
import { PointID, VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import { readPointId } from '../wire/protobuf/read-point-id.js';
import { writeIdLists, writeIds } from '../wire/protobuf/write-ids.js';
import { writePoint } from '../wire/protobuf/write-point.js';
import { AS_IT_CAME, reading, writing, writingLarge } from './codec.js';

/**
 * The generated service definition with our own codec in it: answers are encoded from what the
 * service gives, and requests that hold vectors stay as they came, for the handler to read when it
 * is their turn: that may take long. One that names a point and cannot be read becomes its error,
 * for the handler to throw: a codec that throws is no client's fault to nice-grpc.
 */
export const vectorDbDefinition = {
  ...VectorDBDefinition,
  methods: {
    insertVector: {
      ...VectorDBDefinition.methods.insertVector,
      requestType: AS_IT_CAME,
      responseType: writing(PointID.encode),
    },
    insertVectorsBatch: {
      ...VectorDBDefinition.methods.insertVectorsBatch,
      requestType: AS_IT_CAME,
      responseType: writing(writeIds),
    },
    deletePoint: {
      ...VectorDBDefinition.methods.deletePoint,
      requestType: reading(readPointId),
      responseType: writing(Empty.encode),
    },
    getPoint: {
      ...VectorDBDefinition.methods.getPoint,
      requestType: reading(readPointId),
      responseType: writing(writePoint),
    },
    searchPoints: {
      ...VectorDBDefinition.methods.searchPoints,
      requestType: AS_IT_CAME,
      responseType: writingLarge(writeIds),
    },
    searchPointsBatch: {
      ...VectorDBDefinition.methods.searchPointsBatch,
      requestType: AS_IT_CAME,
      responseType: writingLarge(writeIdLists),
    },
  },
} as const;
