import type { Address } from './address.js';
import { VectordError } from './errors.js';
import type { Attempt, Pages, Transport } from './transport.js';

/** After these failures another node may answer: nobody was there, or it stops, or is not ready. */
const GOES_ELSEWHERE: ReadonlySet<string> = new Set(['CONNECTION_LOST', 'UNAVAILABLE']);

/** What speaks to the node at an address, or to one after the other of several. */
export function transportTo(
  [first, ...others]: readonly [Address, ...Address[]],
  open: (address: Address) => Transport,
): Transport {
  if (others.length === 0) return open(first);
  return failoverTransport([open(first), ...others.map(open)]);
}

/**
 * Several nodes of one service as one. All calls go to one of them; where that has no answer, the next
 * try of each goes to the next node, and so do all calls from then on.
 */
function failoverTransport(nodes: readonly [Transport, ...Transport[]]): Transport {
  let present = 0;
  const nodeAt = (at: number): Transport => nodes[at % nodes.length] ?? nodes[0];
  const attempt = <Answer>(make: (node: Transport) => Attempt<Answer>): Attempt<Answer> => {
    return async (signal) => {
      const at = present;
      try {
        return await make(nodeAt(at))(signal);
      } catch (error) {
        const leaves = error instanceof VectordError && GOES_ELSEWHERE.has(error.code);
        // Another call may have left it already.
        if (leaves && present === at) present = (at + 1) % nodes.length;
        throw error;
      }
    };
  };
  return {
    // Points are encoded alike for all.
    encode: (point) => nodes[0].encode(point),
    upsert: (points, ifAbsent) => attempt((node) => node.upsert(points, ifAbsent)),
    get: (ids, include) => attempt((node) => node.get(ids, include)),
    search: (query) => attempt((node) => node.search(query)),
    searchAll: (queries) => attempt((node) => node.searchAll(queries)),
    scroll: (scroll, limit) => attempt((node) => node.scroll(scroll, limit)),
    pages(scroll): Pages {
      // Those of a node go on behind its own last page: where another has been asked, they begin anew.
      let asked: { readonly node: Transport; readonly pages: Pages } | undefined;
      const pagesOf = (node: Transport): Pages => {
        if (asked?.node === node) return asked.pages;
        asked?.pages.close();
        asked = { node, pages: node.pages(scroll) };
        return asked.pages;
      };
      return {
        next: (after) => attempt((node) => pagesOf(node).next(after)),
        close: () => asked?.pages.close(),
      };
    },
    count: (filter) => attempt((node) => node.count(filter)),
    delete: (ids) => attempt((node) => node.delete(ids)),
    deleteMatching: (filter) => attempt((node) => node.deleteMatching(filter)),
    deleteAll: (confirm) => attempt((node) => node.deleteAll(confirm)),
    update: (updates) => attempt((node) => node.update(updates)),
    info: () => attempt((node) => node.info()),
    close: () => nodes.forEach((node) => node.close()),
  };
}
