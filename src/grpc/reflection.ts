import type { ServiceImplementation } from 'nice-grpc';
import { ServerReflection, ServerReflectionService } from 'nice-grpc-server-reflection';
import { descriptorSet } from '../gen/descriptor-set.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { PointsServiceDefinition } from '../gen/vectord/v1/points.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import { rewriteReflectionRequest } from '../wire/protobuf/rewrite-reflection.js';

const { serverReflectionInfo } = ServerReflectionService;

/** The library's own method, whose requests have been read once before its codec reads them. */
const method = {
  ...serverReflectionInfo,
  requestDeserialize: (bytes: Buffer) =>
    serverReflectionInfo.requestDeserialize(Buffer.from(rewriteReflectionRequest(bytes))),
};

const ServerReflectionV1 = { serverReflectionInfo: method };

/** The messages of both versions are the same; older tools know only this one. */
const ServerReflectionV1Alpha = {
  serverReflectionInfo: {
    ...method,
    path: '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
  },
};

export const reflectionDefinitions = [ServerReflectionV1, ServerReflectionV1Alpha] as const;

/** Tells tools such as grpcurl which services and messages there are. */
export const reflection: ServiceImplementation<typeof ServerReflectionV1> = ServerReflection(
  descriptorSet,
  [VectorDBDefinition.fullName, PointsServiceDefinition.fullName, HealthDefinition.fullName],
);
