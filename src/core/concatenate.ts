/** Vectors one after the other, and where each of them ends. */
export interface VectorList {
  readonly vectors: Float32Array;
  readonly vectorEnds: Uint32Array;
}

/** The vectors of all items, each as long as it is. */
export function concatenate(items: readonly { readonly vector: Float32Array }[]): VectorList {
  let end = 0;
  const vectorEnds = Uint32Array.from(items, ({ vector }) => (end += vector.length));
  const [first] = items;
  if (items.length === 1 && first !== undefined) return { vectors: first.vector, vectorEnds };
  const vectors = new Float32Array(end);
  items.forEach(({ vector }, index) => vectors.set(vector, vectorEnds[index - 1] ?? 0));
  return { vectors, vectorEnds };
}
