import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openClients, type SimilarityName } from '../support/clients.js';
import { readRows } from '../support/npy.js';
import { distance, rankAll, recall } from '../support/reference.js';
import { startServer } from '../support/server.js';
import { textPoint } from './points.js';

const ROWS = 6_000;
const QUERIES = 30;
const LIMIT = 10;
/** Narrow enough for the smallest set to be searched by graph. */
const EF = 64;
const ROWS_AT_ONCE = 1_000;
const TIMEOUT_MS = 60_000;

/** Sentence embeddings that are part of the repository. */
const SAMPLE = fileURLToPath(new URL('../../examples/demo/data', import.meta.url));

/** The folder of larger sets, which are not. */
const SETS =
  process.env['VECTORD_DATA'] ?? fileURLToPath(new URL('../../../shared/data', import.meta.url));

describe.each<[string, string, string, readonly SimilarityName[]]>([
  [
    'the sample of sentence embeddings',
    SAMPLE,
    'minilm_#.f16',
    ['Euclidean', 'Manhattan', 'Cosine'],
  ],
  ['sentence embeddings (minilm)', SETS, 'minilm_#.f16', ['Euclidean', 'Manhattan', 'Cosine']],
  ['image descriptors (sift)', SETS, 'sift_#.u8', ['Euclidean', 'Manhattan', 'Cosine']],
  ['text signatures (minhash)', SETS, 'minhash_#.u8', ['Hamming']],
])('on %s', (_, folder, pattern, similarities) => {
  const path = (part: string): string => join(folder, `${pattern.replace('#', part)}.npy`);

  test.skipIf(!existsSync(path('base')))(
    `at least 95 % of the true neighbours are found, under ${similarities.join(', ')}`,
    async () => {
      const base = readRows(path('base'), ROWS);
      const queries = readRows(path('query'), QUERIES);
      const server = await startServer({ dimension: base[0]?.length ?? 0 });
      const [http, grpc] = openClients(server);
      const places = new Map<string, number>();
      for (let start = 0; start < base.length; start += ROWS_AT_ONCE) {
        const rows = base.slice(start, start + ROWS_AT_ONCE);
        const ids = await grpc.insertBatch(rows.map(textPoint));
        ids.forEach((id, index) => places.set(id, start + index));
      }
      for (const similarity of similarities) {
        const asked = queries.map((vector) => ({ vector, similarity, limit: LIMIT, ef: EF }));
        const truths = queries.map((query) => rankAll(similarity, query, base).slice(0, LIMIT));
        // By scan at first, then while a graph grows, then by the graph.
        const endMs = performance.now() + 700;
        for (let times = 0; times < 2 || performance.now() < endMs; times += 1) {
          const answers = await (times % 2 === 0 ? http : grpc).searchBatch(asked);
          const recalls = answers.map((ids, index) => {
            const query = queries[index] ?? [];
            const found = ids.map((id) =>
              distance(similarity, query, base[places.get(id) ?? -1] ?? []),
            );
            return recall(found, truths[index] ?? []);
          });
          const mean = recalls.reduce((total, value) => total + value, 0) / recalls.length;
          expect(mean, similarity).toBeGreaterThanOrEqual(0.95);
        }
      }
      http.close();
      grpc.close();
      await server.stop();
    },
    TIMEOUT_MS,
  );
});
