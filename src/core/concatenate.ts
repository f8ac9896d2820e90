/** The vectors of all items, each of this dimension, one after the other. */
export function concatenate(
  items: readonly { readonly vector: Float32Array }[],
  dimension: number,
): Float32Array {
  const [first] = items;
  if (items.length === 1 && first !== undefined) return first.vector;
  const vectors = new Float32Array(items.length * dimension);
  items.forEach(({ vector }, index) => vectors.set(vector, index * dimension));
  return vectors;
}
