// Mistakes in what threads share and in what becomes of them after a panic. Each replaces text that
// is in a file exactly once, and names the arguments of `cargo test` that must notice it.

const CRATE = 'crates/engine/src';
const INDEX = 'crates/engine/src/index';

const SNAPSHOT_TESTS = ['--test', 'quick', 'snapshots::'];
const LINKER_TESTS = ['--lib', 'index::linking'];
const GRAPH_TESTS = ['--lib', 'index::graphs::metric_graph'];
const RECLAIM_TESTS = ['--lib', 'index::linking::reclaim'];
const GIVE_BACK_TESTS = ['--lib', 'index::tests::give_back'];
const PANIC_TESTS = ['--lib', 'a_panic_of'];
const LIVES_TESTS = ['--lib', 'index::lives'];

export const THREAD_MUTANTS = [
  mutant(
    'a thread that may not work spins before a pause',
    `${INDEX}/graphs/signal.rs`,
    'if state.is_pausing { EPOCH_WAIT } else { time }',
    'if state.is_pausing { Duration::ZERO } else { time }',
    LINKER_TESTS,
  ),
  mutant(
    'a linking thread that panics ends',
    `${INDEX}/linking/linker.rs`,
    'index.start_over("a linking thread panicked");',
    'return;',
    LINKER_TESTS,
  ),
  mutant(
    'a linking thread that has ended is waited for',
    `${INDEX}/graphs/signal.rs`,
    'self.state().running -= 1;',
    '',
    LINKER_TESTS,
  ),
  mutant(
    'what a graph lacks that failed is not in its tail',
    `${INDEX}/linking/linker.rs`,
    'if !graph.is_current(linked) {\n        // The claim',
    'if false {\n        // The claim',
    LINKER_TESTS,
  ),
  mutant(
    'a graph that failed is never begun again',
    `${INDEX}/graphs/metric_graph.rs`,
    'if is_due(&self.read()) {',
    'if is_due(&self.read()) && false {',
    LINKER_TESTS,
  ),
  mutant(
    'a graph that fails again waits no longer',
    `${INDEX}/graphs/metric_graph.rs`,
    'RETRY * 2_u32.pow(state.failures.min(MOST_DOUBLINGS))',
    'RETRY',
    GRAPH_TESTS,
  ),
  mutant(
    'what fails late on a graph takes the next one',
    `${INDEX}/graphs/metric_graph.rs`,
    'if current.is_some_and(|current| std::ptr::eq(current, linked)) {',
    'if current.is_some_and(|current| std::ptr::eq(current, linked) || true) {',
    GRAPH_TESTS,
  ),
  mutant(
    'slots are freed under those on a graph that was given up',
    `${INDEX}/linking/reclaim.rs`,
    'if self.given_up() != round.given_up {',
    'if self.given_up() != round.given_up && false {',
    RECLAIM_TESTS,
  ),
  mutant(
    'slots are freed under those on a graph that was given back',
    `${INDEX}/graphs/metric_graph.rs`,
    'state.given_up += u32::from(given_back.is_some());',
    '',
    GIVE_BACK_TESTS,
  ),
  mutant(
    'what a graph has held back is held back after it was given back',
    `${INDEX}/mod.rs`,
    'self.reclaim.held_back.store(0, Ordering::Relaxed);',
    '',
    GIVE_BACK_TESTS,
  ),
  mutant(
    'a graph is given back though searches ask for it',
    `${INDEX}/search/prepare.rs`,
    'graph.note_search();',
    '',
    GIVE_BACK_TESTS,
  ),
  mutant(
    'the snapshots of graphs that were given back stay',
    `${CRATE}/engine/upkeep.rs`,
    'self.has_given_back = true;',
    '',
    SNAPSHOT_TESTS,
  ),
  mutant(
    'a request that a panic of the writer passes over is not answered',
    `${CRATE}/engine/writer/request.rs`,
    'drop(catch_unwind(AssertUnwindSafe(answer)));',
    'drop(answer);',
    PANIC_TESTS,
  ),
  mutant(
    'writes go on after a panic of the writer',
    `${CRATE}/engine/writer/group_commit.rs`,
    'Err(_) => self.note(&panicked()),',
    'Err(_) => {}',
    PANIC_TESTS,
  ),
  mutant(
    'writes go on after a panic of what the writer does for others',
    `${CRATE}/engine/writer/group_commit.rs`,
    'AssertUnwindSafe(|| work(&mut self.store))).is_err()',
    'AssertUnwindSafe(|| work(&mut self.store))).is_err() && false',
    PANIC_TESTS,
  ),
  mutant(
    'a slot restored as free is one that was never deleted',
    `${INDEX}/arena.rs`,
    'self.lives.begin_free(slot);',
    '',
    SNAPSHOT_TESTS,
  ),
  mutant(
    'a slot is free from the start on without a delete',
    `${INDEX}/lives.rs`,
    'self.end(slot, BEFORE_ALL);',
    '',
    LIVES_TESTS,
  ),
];

function mutant(name, file, from, to, tests) {
  return { name, file, from, to, tests };
}
