// Mistakes in filters, columns, and the plan of a filtered search. Each replaces text that is in a
// file exactly once, and names the arguments of `cargo test` that must notice it.

const FILTER = 'crates/filter/src';
const COLUMNS = 'crates/engine/src/index/columns';
const PROBE = 'crates/engine/src/index/probe.rs';
const SEARCH = 'crates/engine/src/index/search';
const AMONG = 'crates/engine/src/hnsw/among.rs';

const RULE_TESTS = ['--test', 'matches'];
const COLUMN_TESTS = ['--lib', 'columns'];
const SEARCH_TESTS = ['--lib', 'filtered'];
const WORKER_TESTS = ['--lib', 'workers'];
const KERNEL_TESTS = ['--lib', 'kernels::passing'];

export const FILTER_MUTANTS = [
  mutant(
    'an array passes by its last item alone',
    `${FILTER}/metadata.rs`,
    'items.iter().any(|item| test.passes(item))',
    'items.last().is_some_and(|item| test.passes(item))',
    RULE_TESTS,
  ),
  mutant(
    'negation passes points that were not asked about',
    `${FILTER}/filter.rs`,
    'Node::Not(node) => asked & !node.passing(asked, answer),',
    'Node::Not(node) => !node.passing(asked, answer),',
    COLUMN_TESTS,
  ),
  mutant(
    'an alternative asks about all points and keeps the last answer',
    `${FILTER}/filter.rs`,
    'passing |= node.passing(asked & !passing, answer);',
    'passing = node.passing(asked & !passing, answer);',
    RULE_TESTS,
  ),
  mutant(
    'texts that came later pass as those before',
    `${FILTER}/passing.rs`,
    'unknown: within(words, (UNREAD, UNREAD)) | within(words, self.later),',
    'unknown: within(words, (UNREAD, UNREAD)),',
    RULE_TESTS,
  ),
  mutant(
    'a word that was not read is an answer',
    `${FILTER}/passing.rs`,
    'unknown: within(words, (UNREAD, UNREAD)) | within(words, self.later),',
    'unknown: within(words, self.later),',
    RULE_TESTS,
  ),
  mutant(
    'a bound is within its own open side',
    `${FILTER}/passing.rs`,
    'Side::Above => (word + 1, most),',
    'Side::Above => (word, most),',
    RULE_TESTS,
  ),
  mutant(
    'the words of negative numbers are in reverse',
    `${FILTER}/words.rs`,
    'if bits & SIGN == 0 { bits | SIGN } else { !bits }',
    'if bits & SIGN == 0 { bits | SIGN } else { bits }',
    RULE_TESTS,
  ),
  mutant(
    'the widest kernel forgets the upper end of a range',
    'crates/engine/src/vectors/kernels/passing.rs',
    'words.as_chunks::<8>();',
    'words[..32].as_chunks::<8>();',
    KERNEL_TESTS,
  ),
  mutant(
    'records are not asked where a column has no word',
    PROBE,
    'passing & !unknown | bits(unknown, |bit| self.read(first + bit))',
    'passing & !unknown',
    COLUMN_TESTS,
  ),
  mutant(
    'one point is answered by words that were not read',
    PROBE,
    'is_unknown |= answer.is_none();',
    'is_unknown |= false;',
    COLUMN_TESTS,
  ),
  mutant(
    'a slot keeps the words of its last point',
    `${COLUMNS}/mod.rs`,
    'column.store(slot, column.word_of(stored));',
    'column.fill(slot, column.word_of(stored));',
    COLUMN_TESTS,
  ),
  mutant(
    'the builder leaves points without a field unread',
    `${COLUMNS}/mod.rs`,
    'vec![words::MISSING; self.columns.len()]',
    'vec![words::UNREAD; self.columns.len()]',
    COLUMN_TESTS,
  ),
  mutant(
    'columns grow beyond their bound',
    `${COLUMNS}/mod.rs`,
    'next.filter(|_| bytes > self.max_bytes)',
    'next.filter(|_| bytes > usize::MAX)',
    COLUMN_TESTS,
  ),
  mutant(
    'a column is bounded only when it is whole',
    'crates/engine/src/index/column_builder.rs',
    'if slot.is_multiple_of(STRIDE) {',
    'if slot == u32::MAX {',
    COLUMN_TESTS,
  ),
  mutant(
    'a column that is built stays in place of one that is ready',
    `${COLUMNS}/mod.rs`,
    'unread.or_else(|| oldest(&columns))',
    'unread.and(None).or_else(|| oldest(&columns))',
    COLUMN_TESTS,
  ),
  mutant('what was given up goes on', PROBE, 'if !(self.goes_on)() {', 'if false {', COLUMN_TESTS),
  mutant(
    'a number in an array passes if one above it does',
    `${FILTER}/passing.rs`,
    'first.is_some_and(|&item| item <= to)',
    'first.is_some()',
    RULE_TESTS,
  ),
  mutant(
    'there is room for any column',
    `${COLUMNS}/mod.rs`,
    'columns.len() < MAX_COLUMNS && bytes + needed <= self.max_bytes',
    'columns.len() < MAX_COLUMNS',
    COLUMN_TESTS,
  ),
  mutant(
    'texts of deleted points stay for ever',
    `${COLUMNS}/mod.rs`,
    'columns.retain(|column| !is_outgrown(column));',
    'columns.retain(|_| true);',
    COLUMN_TESTS,
  ),
  mutant(
    'a snapshot has the words of points that it lacks',
    'crates/engine/src/index/snapshot/columns.rs',
    'let word = if has_point(slot) {',
    'let word = if true {',
    COLUMN_TESTS,
  ),
  mutant(
    'a snapshot with words that stand for nothing is taken',
    'crates/engine/src/index/snapshot/columns.rs',
    'if !found.iter().all(is_known) {',
    'if false && !found.iter().all(is_known) {',
    COLUMN_TESTS,
  ),
  mutant(
    'a walk asks the filter about no point',
    `${SEARCH}/walk.rs`,
    'let accept = |slot| within.contains(slot);',
    'let accept = |slot| self.view.contains(slot) || within.contains(slot);',
    SEARCH_TESTS,
  ),
  mutant(
    'a filtered walk returns points that the view does not contain',
    `${SEARCH}/within.rs`,
    'self.probe.view().contains(slot) && self.probe.passes(slot)',
    'self.probe.passes(slot)',
    SEARCH_TESTS,
  ),
  mutant(
    'a walk among accepted points does not look behind the others',
    AMONG,
    'rejected.push(near);',
    'let _ = &rejected;',
    SEARCH_TESTS,
  ),
  mutant(
    'a walk among accepted points takes the others too',
    AMONG,
    'if accept(near) && stamps.insert(near) {',
    'if stamps.insert(near) {',
    SEARCH_TESTS,
  ),
  mutant(
    'a part of a filter is taken for the whole',
    `${FILTER}/filter.rs`,
    'least.is_whole &= list.len() == 1;',
    '',
    RULE_TESTS,
  ),
  mutant(
    'an alternative of which nothing is known is left out',
    `${FILTER}/filter.rs`,
    'let one = node.cover(points)?;',
    'let Some(one) = node.cover(points) else { continue };',
    RULE_TESTS,
  ),
  mutant(
    'a slot that got another word is not looked at',
    `${COLUMNS}/sorted.rs`,
    'self.changes.fetch_add(1, Ordering::Relaxed);',
    '',
    COLUMN_TESTS,
  ),
  mutant(
    'slots beside a span are taken for sure',
    `${COLUMNS}/sorted.rs`,
    'place(first)..(behind * FENCE).saturating_sub(FENCE - 1)',
    'place(first)..place(behind)',
    COLUMN_TESTS,
  ),
  mutant(
    'points that came after the others were sorted are not found',
    PROBE,
    'if block < end / BLOCK {',
    'if true {',
    COLUMN_TESTS,
  ),
  mutant(
    'of the points that pass some are not ranked',
    'crates/engine/src/hnsw/search.rs',
    'slots.chunks(BLOCK).peekable()',
    'slots.chunks(BLOCK).skip(1).peekable()',
    SEARCH_TESTS,
  ),
  mutant(
    'fields that no point has keep their columns',
    `${COLUMNS}/mod.rs`,
    'of_no_point.or_else(idle)',
    'of_no_point.filter(|_| false).or_else(idle)',
    COLUMN_TESTS,
  ),
  mutant(
    'work that cannot be left never gives way',
    'crates/engine/src/engine/workers/job.rs',
    '            if (self.has_other)() {',
    '            if false {',
    WORKER_TESTS,
  ),
];

function mutant(name, file, from, to, tests) {
  return { name, file, from, to, tests };
}
