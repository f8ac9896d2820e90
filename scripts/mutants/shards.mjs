// Mistakes in what makes several shards one store: each would lose points, answer what one store would
// not, or say that nothing was written where something was. Each replaces text that is in a file
// exactly once, and names the tests that must notice it.

const CLUSTER = 'src/cluster/shards';
const FIND = `${CLUSTER}/find-neighbours.ts`;
const MERGE = `${CLUSTER}/merge.ts`;
const POINTS = `${CLUSTER}/sharded-points.ts`;
const SCROLL = `${CLUSTER}/scroll-shards.ts`;
const TOKEN = `${CLUSTER}/shard-token.ts`;
const WRITE_PARTS = `${CLUSTER}/write-parts.ts`;

const POINTS_TESTS = [`${CLUSTER}/sharded-points.test.ts`];
const REFUSAL_TESTS = [...POINTS_TESTS, '-t', 'what one store refuses'];
const MERGE_TESTS = [`${CLUSTER}/merge.test.ts`];
const ASK_TESTS = [`${CLUSTER}/ask-parts.test.ts`];
const WRITE_TESTS = [`${CLUSTER}/write-parts.test.ts`];

export const SHARD_MUTANTS = [
  mutant(
    'the slots of ids are others than before',
    `${CLUSTER}/slots.ts`,
    'FNV_BASIS = 0x811c_9dc5',
    'FNV_BASIS = 0x811c_9dc6',
    [`${CLUSTER}/slots.test.ts`],
  ),
  mutant(
    'a shard that is full gets batches',
    `${CLUSTER}/shards.ts`,
    '!points.isFull() && !points.isSilent()',
    '!points.isSilent()',
    [...POINTS_TESTS, '-t', 'full'],
  ),
  mutant(
    'a shard that does not answer gets batches that another could take',
    `${CLUSTER}/shards.ts`,
    '!points.isFull() && !points.isSilent()',
    '!points.isFull()',
    [...POINTS_TESTS, '-t', 'has not answered'],
  ),
  mutant(
    'a part of a write that fails leaves nothing written',
    WRITE_PARTS,
    'fates.refused.length === parts.length',
    'fates.refused.length > 0',
    WRITE_TESTS,
  ),
  mutant(
    'a shard whose disk has failed has written nothing for certain',
    WRITE_PARTS,
    "['OUTCOME_UNKNOWN', 'INTERNAL']",
    "['OUTCOME_UNKNOWN']",
    WRITE_TESTS,
  ),
  mutant(
    'points are stored beside one that is not finite',
    POINTS,
    'if (!isWhole) checkFinite(vectors, dimension, describe);',
    '',
    REFUSAL_TESTS,
  ),
  mutant(
    'the pages end with a shard that has no more',
    SCROLL,
    'if (next !== undefined) return answer(shard, next);',
    'return answer(next && shard, next);',
    POINTS_TESTS,
  ),
  mutant(
    'a full page is the last one where the next shard has points',
    SCROLL,
    '.records.ids.length > 0) return answer(shard);',
    '.records.ids.length > 16) return answer(shard);',
    POINTS_TESTS,
  ),
  mutant(
    'a page takes a point that does not fit behind those of another shard',
    SCROLL,
    'if (lists.length > 0 && bytes > maxBytes) return answer(shard);',
    '',
    POINTS_TESTS,
  ),
  mutant(
    'the token of other shards names a page',
    TOKEN,
    'bytes.readUInt16BE() !== shards || shard >= shards',
    'shard >= shards',
    REFUSAL_TESTS,
  ),
  mutant(
    'a point is among its own neighbours',
    MERGE,
    'if (isLike && isSame(idLists[leg], head, likes, query)) continue;',
    '',
    MERGE_TESTS,
  ),
  mutant(
    'of equal distances that of the last shard comes first',
    MERGE,
    'distance >= least',
    'distance > least',
    MERGE_TESTS,
  ),
  mutant(
    'a point takes a place of its neighbours',
    FIND,
    'clampToUint32(limit + 1)',
    'limit',
    POINTS_TESTS,
  ),
  mutant(
    'a shard is refused records that are in no answer',
    FIND,
    'limits[query] === 0 ? -1 : most',
    'most',
    REFUSAL_TESTS,
  ),
  mutant(
    'the parts of an answer are measured one by one',
    `${CLUSTER}/get-points.ts`,
    'checkBytes(bytes, maxBytes);',
    '',
    REFUSAL_TESTS,
  ),
  mutant(
    'shards go on for a request that another has failed',
    `${CLUSTER}/ask-parts.ts`,
    '    waiting.end();\n',
    '',
    ASK_TESTS,
  ),
];

function mutant(name, file, from, to, tests) {
  return { name, file, from, to, tests };
}
