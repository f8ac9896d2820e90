// Runs the modules that threads share under a model checker (crates/engine/src/index/tests/model.rs).
// VECTORD_MODEL_SCHEDULES says how many schedules each test tries. What it compiles has a folder of
// its own: other flags would have everything compiled anew each time.
//
// Without VECTORD_MODEL_SCHEDULES it takes all the time that it needs, and checks the rules of a
// cluster in wide scopes as well (crates/cluster-model).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const target = join(process.env.CARGO_TARGET_DIR ?? 'target', 'model');
const flags = `${process.env.RUSTFLAGS ?? ''} --cfg vectord_shuttle`.trim();
const threads = ['--package', 'vectord-engine', '--lib', 'index::tests::model'];
const cluster = ['--package', 'vectord-cluster-model', '--lib', '--', '--ignored', '--nocapture'];

const isQuick = process.env.VECTORD_MODEL_SCHEDULES !== undefined;
// Few schedules take less time than compiling what debuggers need does.
const parts = isQuick ? { CARGO_PROFILE_TEST_DEBUG: '0', CARGO_PROFILE_DEV_DEBUG: '0' } : {};
const areThreadsRight = passes(threads, { CARGO_TARGET_DIR: target, RUSTFLAGS: flags, ...parts });
const isClusterRight = isQuick || passes(cluster);
process.exitCode = areThreadsRight && isClusterRight ? 0 : 1;

function passes(selection, environment) {
  const { status } = spawnSync('cargo', ['test', '--locked', ...selection], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  return status === 0;
}
