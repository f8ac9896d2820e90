import { descriptorSet } from '../gen/descriptor-set.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { PointsServiceDefinition } from '../gen/vectord/v1/points.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import type { CallContext } from 'nice-grpc-common';
import { rewriteReflectionRequest } from '../wire/protobuf/rewrite-reflection.js';

/** A message in bytes: the library, which reads and writes them, is loaded by the first call. */
type Bytes = Uint8Array;

/** A request is read once before the library reads it, which finds nothing to refuse any more. */
const method = {
  requestStream: true,
  responseStream: true,
  requestSerialize: Buffer.from,
  requestDeserialize: rewriteReflectionRequest,
  responseSerialize: (bytes: Bytes) => Buffer.from(bytes),
  responseDeserialize: (bytes: Buffer): Bytes => bytes,
} as const;

/** The messages of both versions are the same; older tools know only the second. */
export const reflectionDefinitions = ['v1', 'v1alpha'].map((version) => ({
  serverReflectionInfo: {
    ...method,
    path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
  },
}));

/** Tells tools such as grpcurl which services and messages there are. */
export const reflection = {
  async *serverReflectionInfo(requests: AsyncIterable<Bytes>, context: CallContext) {
    const { codec, service } = await (library ??= load());
    const messages = async function* messages() {
      for await (const bytes of requests) yield codec.requestDeserialize(Buffer.from(bytes));
    };
    for await (const answer of service.serverReflectionInfo(messages(), context)) {
      yield codec.responseSerialize(answer);
    }
  },
};

let library: ReturnType<typeof load> | undefined;

/** A start would take a third longer with it (it loads all of grpc-js), and few services are asked. */
async function load() {
  const { ServerReflection, ServerReflectionService } = await import('nice-grpc-server-reflection');
  const service = ServerReflection(descriptorSet, [
    VectorDBDefinition.fullName,
    PointsServiceDefinition.fullName,
    HealthDefinition.fullName,
  ]);
  return { codec: ServerReflectionService.serverReflectionInfo, service };
}
