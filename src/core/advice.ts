/** Fields that other stores have, by their names there, and what there is here instead. */
const INSTEAD: readonly (readonly [names: readonly string[], instead: string])[] = [
  [['offset', 'skip'], 'a page comes `after` the `next` of the one before'],
  [['offset', 'skip'], 'a search has no pages: more points come by a greater `limit`'],
  [['order_by', 'sort', 'sort_by'], '`order` is "oldest" or "newest"'],
  [['order_by', 'sort', 'sort_by'], 'the `similarity` says in which order points come'],
  [
    ['group_by', 'group_size'],
    'nothing is grouped: ask for a greater `limit`, and group the answer',
  ],
  [['k', 'top_k', 'top', 'n_results', 'topK'], 'the greatest number of points is `limit`'],
  [['payload', 'properties', 'attributes'], 'a point carries `content` and `metadata`'],
  [['document', 'documents', 'text', 'page_content'], 'the text of a point is its `content`'],
  [['values', 'embedding', 'embeddings'], 'the values of a point are its `vector`'],
  [['where', 'expr', 'query_filter'], 'what has to hold is the `filter`'],
  [['metric', 'distance', 'metric_type'], 'how closeness is measured is the `similarity`'],
  [
    ['with_payload', 'with_vectors', 'with_vector', 'include_values', 'output_fields'],
    '`include` lists what is answered of points',
  ],
  [['score_threshold', 'distance_threshold'], '`max_distance` leaves out what is farther'],
  [
    ['collection_name', 'namespace', 'partition', 'tenant', 'class'],
    'the one `collection` is `default`: a key of `metadata` tells points apart',
  ],
];

/** What an id has to be. The namespace is that of the clients. */
export const EXPECTED_ID =
  'a UUID (8-4-4-4-12 hexadecimal digits) that is not nil; idFor and id_for of the clients make one ' +
  'of any text, of version 5 in the namespace 1f798449-f176-40ab-9cbe-569099033734';

/** What a collection may be. */
export const EXPECTED_COLLECTION =
  '"default", or no collection: there is one, in which a key of metadata tells points apart';

const PRODUCTS = /^(?:dot|ip|inner|max_?inner)/i;

/**
 * What a message says besides of a field at this path that there is not; empty for most, and where the
 * fields that are expected are others.
 */
export function adviceOnField(path: string, expected: string): string {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const fields = new Set(expected.split(/[^a-z_]+/));
  const isThere = (instead: string): boolean =>
    Array.from(instead.matchAll(/`([a-z_]+)`/g), ([, field = '']) => field).some((field) =>
      fields.has(field),
    );
  const advice = INSTEAD.find(([names, text]) => names.includes(name) && isThere(text));
  const [, instead] = advice ?? [];
  return instead === undefined ? '' : `; ${instead}`;
}

/** What a message says besides of a similarity that there is not; empty for most. */
export function adviceOnSimilarity(found: string | undefined): string {
  if (found === undefined || !PRODUCTS.test(found)) return '';
  return '; of vectors of length 1, Cosine is 1 minus the inner product';
}
