import {
  ServerReflection,
  ServerReflectionService as ServerReflectionV1,
} from 'nice-grpc-server-reflection';
import { descriptorSet } from '../gen/descriptor-set.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';

/** The messages of both versions are the same; older tools know only this one. */
const ServerReflectionV1Alpha = {
  serverReflectionInfo: {
    ...ServerReflectionV1.serverReflectionInfo,
    path: '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
  },
};

export const reflectionDefinitions = [ServerReflectionV1, ServerReflectionV1Alpha] as const;

/** Tells tools such as grpcurl which services and messages there are. */
export const reflection = ServerReflection(descriptorSet, [
  VectorDBDefinition.fullName,
  HealthDefinition.fullName,
]);
