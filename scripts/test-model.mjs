// Runs the modules that threads share under a model checker (crates/engine/src/index/tests/model.rs).
// VECTORD_MODEL_SCHEDULES says how many schedules each test tries. What it compiles has a folder of
// its own: other flags would have everything compiled anew each time.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const target = join(process.env.CARGO_TARGET_DIR ?? 'target', 'model');
const flags = `${process.env.RUSTFLAGS ?? ''} --cfg vectord_shuttle`.trim();
const args = ['test', '--locked', '--package', 'vectord-engine', '--lib', 'index::tests::model'];
const { status } = spawnSync('cargo', args, {
  stdio: 'inherit',
  env: { ...process.env, CARGO_TARGET_DIR: target, RUSTFLAGS: flags },
});
process.exitCode = status ?? 1;
