import { POINT_ID_BYTES } from '../../core/point-id.js';
import type { Records } from '../../core/records.js';

/** Points of several lists: of each the number of its list, and its index in that. */
export interface Places {
  readonly lists: Uint16Array;
  readonly indices: Uint32Array;
}

/** The points at these places, in their order, with the parts that the lists have. */
export function pickRecords(lists: readonly Records[], places: Places, dimension: number): Records {
  const [contents, contentEnds] = pickTexts(
    lists.map(({ contents: bytes, contentEnds: ends }) => ({ bytes, ends })),
    places,
  );
  const [metadata, metadataEnds] = pickTexts(
    lists.map(({ metadata: bytes, metadataEnds: ends }) => ({ bytes, ends })),
    places,
  );
  return {
    ids: pickBytes(
      lists.map(({ ids }) => ids),
      places,
      POINT_ID_BYTES,
    ),
    vectors: pickVectors(
      lists.map(({ vectors }) => vectors),
      places,
      dimension,
    ),
    contentTypes: pickBytes(
      lists.map(({ contentTypes }) => contentTypes),
      places,
      1,
    ),
    contents,
    contentEnds,
    metadata,
    metadataEnds,
  };
}

/** The same of parts of so many bytes each. */
export function pickBytes(lists: readonly Uint8Array[], places: Places, width: number): Uint8Array {
  const isThere = lists.some(({ length }) => length > 0);
  const picked = new Uint8Array(isThere ? places.indices.length * width : 0);
  if (isThere) pickFixed(lists, places, width, picked);
  return picked;
}

function pickVectors(
  lists: readonly Float32Array[],
  places: Places,
  dimension: number,
): Float32Array {
  const isThere = lists.some(({ length }) => length > 0);
  const picked = new Float32Array(isThere ? places.indices.length * dimension : 0);
  if (isThere) pickFixed(lists, places, dimension, picked);
  return picked;
}

type Values = Uint8Array | Float32Array;

function pickFixed(
  from: readonly Values[],
  { lists, indices }: Places,
  width: number,
  picked: Values,
): void {
  for (let at = 0; at < indices.length; at += 1) {
    const list = from[lists[at] ?? 0];
    const start = (indices[at] ?? 0) * width;
    if (list !== undefined) copy(list, start, start + width, picked, at * width);
  }
}

/** Texts one after the other, and where each ends. */
interface Texts {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

function pickTexts(from: readonly Texts[], { lists, indices }: Places): [Uint8Array, Uint32Array] {
  const isThere = from.some(({ ends }) => ends.length > 0);
  const pickedEnds = new Uint32Array(isThere ? indices.length : 0);
  let end = 0;
  for (let at = 0; at < pickedEnds.length; at += 1) {
    const ends = from[lists[at] ?? 0]?.ends;
    const index = indices[at] ?? 0;
    end += (ends?.[index] ?? 0) - (ends?.[index - 1] ?? 0);
    pickedEnds[at] = end;
  }
  const picked = new Uint8Array(end);
  for (let at = 0; at < pickedEnds.length; at += 1) {
    const list = from[lists[at] ?? 0];
    const index = indices[at] ?? 0;
    if (list === undefined) continue;
    const start = list.ends[index - 1] ?? 0;
    copy(list.bytes, start, list.ends[index] ?? 0, picked, pickedEnds[at - 1] ?? 0);
  }
  return [picked, pickedEnds];
}

/** So few are copied one by one: to make a view of them takes longer. */
const FEW = 32;

function copy(from: Values, start: number, end: number, to: Values, offset: number): void {
  if (end - start > FEW) {
    to.set(from.subarray(start, end), offset);
    return;
  }
  for (let at = start; at < end; at += 1) to[offset + at - start] = from[at] ?? 0;
}
