import { Empty } from '../gen/google/protobuf/empty.js';
import { PointID, VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import { readPointId } from '../wire/protobuf/read-point-id.js';
import { writeIdLists, writeIds } from '../wire/protobuf/write-ids.js';
import { writePoint } from '../wire/protobuf/write-point.js';
import { LargeIds } from '../wire/protobuf/large-ids.js';

/** The request side of what is read later. */
const AS_IT_CAME = reading((bytes) => bytes);

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

/** The request side of a codec, in the shape of ts-proto. */
function reading<Message>(read: (bytes: Uint8Array) => Message) {
  return {
    encode: unused,
    decode(bytes: Uint8Array): Message | Error {
      try {
        return read(bytes);
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    },
  };
}

/** The response side of a codec, in the shape of ts-proto. */
function writing<Message>(encode: (message: Message) => { finish(): Uint8Array }) {
  return { encode: (message: Message) => encode(message), decode: unused };
}

/** The same where the transport sends very long answers in chunks. */
function writingLarge<Message>(encode: (message: Message) => { finish(): Uint8Array }) {
  return writing((message: Message | LargeIds) =>
    message instanceof LargeIds ? message : encode(message),
  );
}

/** A server reads requests and writes responses; the other direction is the client's. */
function unused(): never {
  throw new Error('a server does not encode requests or decode responses');
}
