import { CLUSTER_MUTANTS } from './cluster.mjs';
import { FILTER_MUTANTS } from './filters.mjs';
import { REPLICA_MUTANTS } from './replica.mjs';
import { SEARCH_MUTANTS } from './search.mjs';
import { SERVER_MUTANTS } from './server.mjs';
import { SHARD_MUTANTS } from './shards.mjs';
import { STORE_MUTANTS } from './store.mjs';
import { THREAD_MUTANTS } from './threads.mjs';

export const MUTANTS = [
  ...STORE_MUTANTS,
  ...THREAD_MUTANTS,
  ...REPLICA_MUTANTS,
  ...SEARCH_MUTANTS,
  ...FILTER_MUTANTS,
  ...SERVER_MUTANTS,
  ...CLUSTER_MUTANTS,
  ...SHARD_MUTANTS,
];
