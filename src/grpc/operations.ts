import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import type { Operation, Requests } from '../observe/requests.js';

/** Calls that last as long as their clients like. */
const ENDLESS = [
  `${HealthDefinition.fullName}/${HealthDefinition.methods.watch.name}`,
  'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

const OTHERS = [
  ...Object.values(VectorDBDefinition.methods).map(({ name }) => {
    return `${VectorDBDefinition.fullName}/${name}`;
  }),
  `${HealthDefinition.fullName}/${HealthDefinition.methods.check.name}`,
];

/** The kind of a call by its path: one for each method there is, and one for all there are not. */
export function grpcOperations(requests: Requests): (path: string) => Operation {
  const operations = new Map<string, Operation>();
  for (const method of OTHERS) operations.set(`/${method}`, requests.addOperation({ method }));
  for (const method of ENDLESS) {
    operations.set(`/${method}`, requests.addOperation({ method }, true));
  }
  const unknown = requests.addOperation({ method: 'unknown' });
  return (path) => operations.get(path) ?? unknown;
}
