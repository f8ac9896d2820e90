import { openSearches } from './search-client.mjs';
import { LIMIT, searchMessage } from './search-message.mjs';

/** Each about a twentieth more than the one before. */
const LADDER = Array.from({ length: 76 }, (_, step) => Math.round(20 * 1.05 ** step));

/**
 * The least breadth of a ladder at which so many of the nearest are found. What they are is told
 * by the same server: a search as broad as all points is exact.
 * @param {number} least @param {{ grpc: string, key: string }} server
 * @param {Float32Array[]} queries @param {number} points
 */
export async function breadthFor(least, server, queries, points) {
  const { search, close } = openSearches(server);
  const idsAt = async (ef) => {
    const found = [];
    for (const values of queries) {
      const { resultPointIds } = await search(searchMessage(values, ef));
      found.push(resultPointIds.map(({ id }) => id.value));
    }
    return found;
  };
  try {
    const exact = (await idsAt(points)).map((ids) => new Set(ids));
    for (const ef of LADDER) {
      const found = await idsAt(ef);
      const hits = found.flatMap((ids, query) => ids.filter((id) => exact[query].has(id)));
      const recall = hits.length / (queries.length * LIMIT);
      if (recall >= least) return { ef, recall };
    }
    throw new Error(`no breadth up to ${LADDER.at(-1)} reaches a recall of ${least}`);
  } finally {
    close();
  }
}
