import { VectordError } from '../../core/errors.js';
import type { Points } from '../../core/points.js';

/** What a replica of a shard answers, to its own node and to others. */
export interface ReplicaReads extends Pick<Points, 'getMany' | 'count' | 'scroll' | 'findBatch'> {
  /** Finds the points of a delete by filter before its message comes, which then holds up few writes. */
  findToDelete(filter: string): Promise<void>;
  /** Gives back what it has found with this filter for a message that will not come. */
  giveBackFound(filter: string): Promise<void>;
}

/** A replica cannot answer, but another one may. */
export class ReplicaFault extends VectordError {
  constructor(message: string, options?: ErrorOptions) {
    super('UNAVAILABLE', message, options);
  }
}

/** Whether another replica may answer instead: a record that is damaged here is sound there. */
export function isOfReplica(error: unknown): boolean {
  return (
    error instanceof ReplicaFault || (error instanceof VectordError && error.code === 'INTERNAL')
  );
}
