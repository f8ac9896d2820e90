// Runs the modules that threads share under a model checker (crates/engine/src/index/tests/model.rs).
// VECTORD_MODEL_SCHEDULES says how many schedules each test tries.
//
// Without VECTORD_MODEL_SCHEDULES it takes all the time that it needs, and checks the rules of a
// cluster in wide scopes as well (crates/cluster-model).
import { spawnSync } from 'node:child_process';

const threads = ['--package', 'vectord-engine', '--features', 'shuttle', '--lib'];
const cluster = ['--package', 'vectord-cluster-model', '--lib', '--', '--ignored', '--nocapture'];

const areThreadsRight = passes([...threads, 'index::tests::model']);
const isQuick = process.env.VECTORD_MODEL_SCHEDULES !== undefined;
const isClusterRight = isQuick || passes(cluster);
process.exitCode = areThreadsRight && isClusterRight ? 0 : 1;

function passes(selection) {
  const { status } = spawnSync('cargo', ['test', '--locked', ...selection], { stdio: 'inherit' });
  return status === 0;
}
