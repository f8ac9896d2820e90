// Which tests `npm test` leaves to `npm run test:all`, because they take long: most of their time is
// repetition (every bit of a file, every call of a disk) or waiting for a time limit. Of each part
// something stays in the quick tier.

/**
 * Crates whose tests `npm test` runs. The binding has none; the others hold the engine against the
 * reference and check the model of a cluster, and what they depend on takes long to compile.
 */
export const QUICK_CRATES = ['acceptor', 'engine', 'filter', 'json'];

/** Their test programs, besides that of each library. */
export const QUICK_PROGRAMS = ['acceptor', 'fuzz', 'matches', 'quick'];

/** Tests of the engine's library that `npm test` leaves out, by a part of their names. */
export const LONG_RUST_TESTS = [
  'store::tests::backup::what_was_acknowledged_before_a_backup_is_in_it',
  'store::tests::check::no_flipped_bit',
  'store::tests::copy_on_write',
  'store::tests::crash::a_power_cut_at_any_call',
  'store::tests::crash::a_power_cut_inside_the_recovery',
  'store::tests::damage::no_flipped_bit',
  'store::tests::failing',
  'store::tests::repair::records::whatever_bit_is_flipped',
  'store::tests::repair::any_harm::whatever_happens_to_several_places',
  'store::tests::restore::after_a_power_cut_at_any_call',
  'store::tests::full_disk::any_call_may_fail',
  'store::tests::full_disk::a_power_cut_at_any_call',
  'store::tests::full_disk::deletes_go_on_where_too_little',
];

/** Files of vitest. */
export const LONG_FILES = [
  'test/attacks/{http1,http2,keys,large-work,messages,without-key}.test.ts',
  'test/client/{bundle,failover,retries}.test.ts',
  'test/clients/{load,python}.test.ts',
  'test/cluster/{connection,damaged-server,faults,follower,full-disks,lost-replica,lost-streams,lost-tail,metrics,one-machine,permissions,questions,seed,servers,sharded,shards,start,status,strays,trim,trouble}.test.ts',
  'test/console/*.test.ts',
  'test/docs/{deploy,npx,reference,snippets}.test.ts',
  'test/examples/{demo,examples,import-page}.test.ts',
  'test/grpc/{abuse,cancels,h2spec}.test.ts',
  'test/grpc/clients/{clients,idle}.test.ts',
  'test/http/{request-lines.fuzz,schemathesis}.test.ts',
  'test/observe/traces.test.ts',
  'test/package.test.ts',
  'test/process/{grace,loops,npm-start,time-limits,tls,top}.test.ts',
  'test/recovery/{backup-under-load,btrfs,full-disk,permissions,power,kill,released-folders,repair,rot}.test.ts',
  'test/search/{graph,real-data}.test.ts',
  'test/transfer/{bench,connection,import,resume,stop}.test.ts',
  'test/wire/{large-requests,worst-requests}.test.ts',
];

/**
 * Files that no tier runs, but `npm run test:clone`. The README from its beginning, in a fresh clone:
 * `.ci/run` begins in one with the same commands, so that it would compile the engine a second time.
 */
export const WEEKLY_FILES = ['test/docs/clone.test.ts'];

/**
 * Folders and files, by the beginning of their paths, whose tests `npm test` runs against services of one
 * event loop, which start in little more than half the time: `npm run test:all` runs all of them against
 * services of two. They are about connections, keys, metrics, and the start and the end of a process: what
 * a second loop changes.
 */
export const TWO_LOOP_PLACES = [
  'test/grpc/',
  'test/http/auth',
  'test/http/limits',
  'test/http/protocol',
  'test/observe/metrics',
  'test/observe/ready',
  'test/process/',
  'test/v1/grpc',
  'test/v1/revoked-keys',
];

/**
 * Files of vitest that say what the gRPC interface promises, whichever server keeps it:
 * `npm run test:all` runs them a second time, on nice-grpc's own.
 */
export const CONTRACT_FILES = [
  'test/grpc/auth.test.ts',
  'test/grpc/clients/clients.test.ts',
  'test/grpc/error-details.test.ts',
  'test/grpc/grpcurl.test.ts',
  'test/grpc/health.test.ts',
  'test/grpc/nice-grpc.test.ts',
  'test/grpc/operations.test.ts',
  'test/grpc/reflection.test.ts',
  'test/grpc/refusals.test.ts',
  'test/grpc/vortexdb.test.ts',
  'test/search/numbers.test.ts',
  'test/search/visibility.test.ts',
  'test/wire/large-requests.test.ts',
];

/**
 * Files of vitest that say what a single server promises to its clients, which a cluster has to keep as
 * well: `npm run test:all` runs them a second time, each server being a node of a cluster of two shards.
 * Tests of data folders cannot run there, nor those that change DIMENSION, count groups of the log or
 * expect points of several shards in the order of writing.
 */
export const CLUSTER_FILES = [
  'test/client/operations.test.ts',
  'test/client/scroll.test.ts',
  'test/grpc/operations.test.ts',
  'test/grpc/refusals.test.ts',
  'test/http/points.test.ts',
  'test/http/search.test.ts',
  'test/search/visibility.test.ts',
  'test/v1/filters.test.ts',
  'test/v1/grpc.test.ts',
  'test/v1/http.test.ts',
  'test/v1/promises.test.ts',
];

/** Fewer cases of each property, and one event loop for each service. */
export const QUICK_ENVIRONMENT = {
  PROPTEST_CASES: '32',
  LOOPS: '1',
};
