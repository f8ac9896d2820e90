// Mistakes in the search of the engine: its plan, its walk, its final order. Each replaces text that
// is in a file exactly once, and names the arguments of `cargo test` that must notice it.

const INDEX = 'crates/engine/src/index';
const PLAN = 'crates/engine/src/index/search/plan.rs';
const WALK = 'crates/engine/src/hnsw/search.rs';
const EQUAL_VECTORS = 'crates/engine/src/hnsw/equal_vectors.rs';
const TREE = 'crates/engine/src/hnsw/tree.rs';
const RECLAIM = 'crates/engine/src/index/linking/reclaim.rs';
const READING = 'crates/engine/src/engine/reading.rs';
const SNAPSHOT = 'crates/engine/src/index/snapshot/mod.rs';

const INDEX_TESTS = ['--lib', 'index::'];
const GRAPH_TESTS = ['--lib', 'hnsw::'];
const BREADTH_TESTS = ['--test', 'quality', 'ef::'];
const HISTORY_TESTS = ['--test', 'quality', 'history::'];
const EXTREMES_TESTS = ['--test', 'quality', 'extremes::'];
const ENGINE_TESTS = ['--test', 'quick', 'engine::'];
const CHURN_TESTS = ['--test', 'quick', 'churn::'];
const ROT_TESTS = ['--test', 'quick', 'rot::'];
const ITSELF_TESTS = ['--test', 'long', 'itself::'];
const RECORDS_TESTS = ['--test', 'quick', 'records::'];
const METADATA_TESTS = ['--lib', 'metadata::'];
const SEARCHES_TESTS = ['--test', 'quick', 'searches::'];
const UPSERTS_TESTS = ['--test', 'quick', 'upserts::'];

export const SEARCH_MUTANTS = [
  mutant(
    'the walk takes any breadth for the default',
    `${INDEX}/search/walk.rs`,
    'let Request { ef, limit, .. } = self.request;',
    'let Request { limit, .. } = self.request;\n        let ef = 100;',
    INDEX_TESTS,
  ),
  mutant(
    'a breadth of all points is walked',
    `${INDEX}/search/prepare.rs`,
    '} else if (request.ef as u64) < points {',
    '} else {',
    INDEX_TESTS,
  ),
  mutant(
    'equal distances come in any order',
    `${INDEX}/search/rescore.rs`,
    'a.0.total_cmp(&b.0).then_with(by_insertion)',
    'a.0.total_cmp(&b.0).then_with(|| by_insertion().reverse())',
    ENGINE_TESTS,
  ),
  mutant(
    'what rounding may hide behind the margin is not looked at',
    `${INDEX}/search/full_scan.rs`,
    'if covers || !may_have_missed {',
    'if covers || !may_have_missed || true {',
    ENGINE_TESTS,
  ),
  mutant(
    'points that need f64 are in no answer',
    `${INDEX}/search/rescore.rs`,
    'slots.extend(f64_only.iter().copied().filter(|&slot| self.accepts(slot)));',
    'slots.extend(f64_only.iter().copied().filter(|&slot| self.accepts(slot)).take(0));',
    EXTREMES_TESTS,
  ),
  mutant(
    'a query for double precision is walked in single precision',
    `${INDEX}/search/prepare.rs`,
    'if !is_ordinary {',
    'if !is_ordinary && false {',
    INDEX_TESTS,
  ),
  mutant(
    'points that the graph does not hold yet are missed',
    `${INDEX}/search/walk.rs`,
    'let next = tail.next.clone();',
    'let next = tail.next.end..tail.next.end;',
    INDEX_TESTS,
  ),
  mutant(
    'a walk that reaches too few points is the answer',
    `${INDEX}/search/run.rs`,
    'if ranked.len() < self.request.limit {',
    'if false {',
    CHURN_TESTS,
  ),
  mutant(
    'a walk returns points that the view does not contain',
    `${INDEX}/view.rs`,
    'slot < self.slots && self.index.arena.is_visible(slot, self.sequence)',
    'slot < self.slots',
    HISTORY_TESTS,
  ),
  mutant(
    'a graph is walked before it has caught up',
    `${INDEX}/search/prepare.rs`,
    'if !linked.caught_up() {',
    'if !linked.caught_up() && false {',
    INDEX_TESTS,
  ),
  mutant(
    'a damaged point is in an answer',
    `${INDEX}/search/rescore.rs`,
    'self.view.index.verify(slot)?;',
    'let _ = slot;',
    ROT_TESTS,
  ),
  mutant(
    'a batch goes on though nobody waits for it',
    `${INDEX}/search/run.rs`,
    'if !goes_on(considered) {',
    'if !goes_on(considered) && false {',
    INDEX_TESTS,
  ),
  mutant(
    'a limit counts for more work than there are points',
    'crates/engine/src/engine/query.rs',
    'ef.max(limit.min(points)) as u64',
    'ef.max(limit) as u64',
    ENGINE_TESTS,
  ),
  mutant(
    'a limit counts for no work',
    'crates/engine/src/engine/query.rs',
    'ef.max(limit.min(points)) as u64',
    'ef.min(ef.max(limit.min(points))) as u64',
    ENGINE_TESTS,
  ),
  mutant(
    'a graph is not walked where that costs less',
    `${INDEX}/search/prepare.rs`,
    'self.plan = Plan::Graph;',
    'self.plan = Plan::Scan;',
    INDEX_TESTS,
  ),
  mutant(
    'queries that scan together cost as much as alone',
    PLAN,
    'alone * (1.0 - SHARED + SHARED / queries.max(1) as f32)',
    'alone',
    INDEX_TESTS,
  ),
  mutant(
    'a wide walk costs as much as a narrow one',
    PLAN,
    'self.ranks_per_place.saturating_mul(breadth)',
    'self.ranks_per_place',
    INDEX_TESTS,
  ),
  mutant(
    'a broad walk costs no more than in proportion to its breadth',
    PLAN,
    'MOVE * moved * moved',
    'MOVE * moved',
    INDEX_TESTS,
  ),
  mutant(
    'a walk goes on that nobody waits for',
    WALK,
    '} {\n            scratch.unless_abandoned()?;',
    '} {',
    GRAPH_TESTS,
  ),
  mutant(
    'a walk by codes costs as much as one by vectors',
    PLAN,
    'Codes::pay(dimension) && Codes::suit(metric)',
    'false',
    INDEX_TESTS,
  ),
  mutant(
    'the walk ignores its breadth',
    WALK,
    'let stop_rule = StopRule::of_search(metric, ef, limit);',
    'let stop_rule = StopRule::of_search(metric, limit, limit);',
    BREADTH_TESTS,
  ),
  mutant(
    'copies of a point are not found',
    WALK,
    'for slot in self.links.duplicates(neighbor.slot) {',
    'for slot in self.links.duplicates(neighbor.slot).take(0) {',
    GRAPH_TESTS,
  ),
  mutant(
    'what equals a query is left to the walk',
    `${INDEX}/search/walk.rs`,
    'list_equal(arena, query, wanted, patience, age, &mut slots)?',
    'list_equal(arena, query, 0, patience, age, &mut slots)?',
    ITSELF_TESTS,
  ),
  mutant(
    'of equal vectors those linked first are found, not the oldest',
    'crates/engine/src/hnsw/duplicates.rs',
    '&& aged < *youngest',
    '&& false',
    INDEX_TESTS,
  ),
  mutant(
    'a search on the loop verifies any number of records',
    `${INDEX}/search/rescore.rs`,
    'index == RECORDS_AT_ONCE || bytes > BYTES_AT_ONCE',
    'false',
    INDEX_TESTS,
  ),
  mutant(
    'points of a snapshot are not found by their vectors',
    SNAPSHOT,
    'linked.graph.load_equal_vectors(&self.arena)?;',
    '',
    ITSELF_TESTS,
  ),
  mutant(
    'a point that is gone is found by its vector for ever',
    TREE,
    'self.equal_vectors.remove(points, slot);',
    '',
    INDEX_TESTS,
  ),
  mutant(
    'a search on the loop goes through any number of deleted points',
    WALK,
    'self.patience(ef).min(scratch.patience())',
    'self.patience(ef)',
    INDEX_TESTS,
  ),
  mutant(
    'a search goes through any number of deleted copies',
    WALK,
    '} else if !beam.pass_leaf() {',
    '} else if false {',
    INDEX_TESTS,
  ),
  mutant(
    'a search that gave up on the loop is scanned there',
    `${INDEX}/search/run.rs`,
    'if ranked.len() < self.request.limit {\n                    return Ok(None);',
    'if ranked.len() < self.request.limit {\n                    return self.hits(self.scan(scratch)?, scratch).map(Some);',
    INDEX_TESTS,
  ),
  mutant(
    'no round begins for the deleted points that searches meet',
    RECLAIM,
    '|| is_in_the_way && dead',
    '|| false && is_in_the_way && dead',
    INDEX_TESTS,
  ),
  mutant(
    'deleted points met in passing begin a round',
    RECLAIM,
    'if points > breadth {',
    'if points > 0 {',
    INDEX_TESTS,
  ),
  mutant(
    'the points that searches met before a round begin the next',
    RECLAIM,
    'self.reclaim.passed.store(0, Ordering::Relaxed);',
    '',
    INDEX_TESTS,
  ),
  mutant(
    'zeros of different signs have different hashes',
    EQUAL_VECTORS,
    '(value + 0.0).to_bits()',
    'value.to_bits()',
    GRAPH_TESTS,
  ),

  // Answers that hold records.
  mutant(
    'what is read takes no memory of the budget',
    READING,
    'let memory = self.budget.reserve(bytes)?;',
    'let memory = self.budget.reserve(bytes / usize::MAX)?;',
    RECORDS_TESTS,
  ),
  mutant(
    'points that are asked for by their ids may take any number of bytes',
    READING,
    'if bytes > max_bytes {',
    'if false {',
    RECORDS_TESTS,
  ),
  mutant(
    'what a search wants takes no memory of the budget',
    'crates/engine/src/engine/batch.rs',
    'let memory = self.budget.reserve(bytes)?;',
    'let memory = self.budget.reserve(0)?;',
    RECORDS_TESTS,
  ),
  mutant(
    'each query of a batch may take all bytes',
    'crates/engine/src/engine/batch.rs',
    'before.saturating_add(bytes) > max_bytes',
    'before.min(bytes) > max_bytes',
    RECORDS_TESTS,
  ),
  mutant(
    'neighbours that are too far are answered',
    'crates/engine/src/engine/answer.rs',
    'neighbours.truncate(neighbours.partition_point(is_near));',
    'let _ = is_near;',
    RECORDS_TESTS,
  ),
  mutant(
    'a point is among its own neighbours',
    'crates/engine/src/engine/answer.rs',
    'neighbours.retain(|near| near.id != like);',
    'let _ = like;',
    RECORDS_TESTS,
  ),
  mutant(
    'the neighbours of a point are one fewer than asked for',
    'crates/engine/src/engine/answer.rs',
    'query.limit = query.limit.saturating_add(1);',
    '',
    RECORDS_TESTS,
  ),
  mutant(
    'Euclidean distances are squared',
    'crates/engine/src/metric.rs',
    'Metric::Euclidean => rank.sqrt(),',
    'Metric::Euclidean => rank,',
    RECORDS_TESTS,
  ),
  mutant(
    'records of any size are copied on the calling thread',
    'crates/engine/src/engine/mod.rs',
    'if want.bytes(&view, &found) > max_bytes.min(MAX_BYTES_AT_ONCE) {',
    'if false {',
    RECORDS_TESTS,
  ),

  // Bodies that upsert points.
  mutant(
    'a key of metadata may come twice',
    'crates/json/src/metadata.rs',
    'keys.contains(&name)',
    'keys.is_empty() && keys.contains(&name)',
    METADATA_TESTS,
  ),
  mutant(
    'whole numbers that are no doubles are taken as metadata',
    'crates/json/src/metadata.rs',
    'const MAX_WHOLE: u64 = 1 << 53;',
    'const MAX_WHOLE: u64 = 1 << 54;',
    METADATA_TESTS,
  ),
  mutant(
    'arrays of metadata may hold any values',
    'crates/json/src/metadata.rs',
    'Ok(kind) if *self.kind.get_or_insert(kind) == kind => None,',
    'Ok(kind) if *self.kind.get_or_insert(kind) == kind || true => None,',
    METADATA_TESTS,
  ),
  mutant(
    'a field that is given twice is taken from its last place',
    'crates/json/src/named.rs',
    'if self.values[at].replace(members.next_value()?).is_some() {',
    'if self.values[at].replace(members.next_value()?).is_some() && false {',
    UPSERTS_TESTS,
  ),
  mutant(
    'half a float at the end of a vector in base64 is dropped',
    'crates/json/src/any_vector.rs',
    'if !rest.is_empty() || (length != PIECE / 4 * 3 && !is_last) {',
    'if length != PIECE / 4 * 3 && !is_last {',
    UPSERTS_TESTS,
  ),
  mutant(
    'the nil id is an id',
    'crates/json/src/point_id.rs',
    'id.filter(|id| !id.is_nil())',
    'id.filter(|_| true)',
    UPSERTS_TESTS,
  ),

  // Bodies that search for neighbours.
  mutant(
    'a list of queries hides the query beside it',
    'crates/json/src/searches.rs',
    'if is_list && is_query {',
    'if false && is_query {',
    SEARCHES_TESTS,
  ),
  mutant(
    'exact is a breadth like any other',
    'crates/json/src/searches.rs',
    'ef: if is_exact { f64::INFINITY } else { ef },',
    'ef,',
    SEARCHES_TESTS,
  ),
  mutant(
    'a search includes nothing unless it is told to',
    'crates/json/src/searches.rs',
    'include: include(parts, DISTANCE, ALL_PARTS)?,',
    'include: include(parts, 0, ALL_PARTS)?,',
    SEARCHES_TESTS,
  ),
];

function mutant(name, file, from, to, tests) {
  return { name, file, from, to, tests };
}
