import { VectordError, invalid } from '../../core/errors.js';
import type { PointID } from '../../gen/vectordb/vectordb.js';
import { ContentType, Similarity, type NewPoint, type Query } from '../../core/model.js';
import { parsePointId, type PointId } from '../../core/point-id.js';
import { quote } from './quote.js';
import type { InsertRequest } from './read-insert.js';
import type { SearchRequest } from './read-search.js';

/** The id that a request names; over gRPC one that is none is the client's error. */
export function toPointId({ id }: PointID): PointId {
  if (id === undefined) throw invalid('id is missing, expected a UUID');
  const parsed = parsePointId(id.value);
  if (parsed === undefined) {
    throw invalid(`id is ${quote(id.value)}, expected a UUID (8-4-4-4-12 hexadecimal digits)`);
  }
  return parsed;
}

/** `where` says which item of a batch this is: a prefix such as `vectors[3]: `. */
export function toNewPoint({ vector, payload }: InsertRequest, where: string): NewPoint {
  if (vector === undefined) throw invalid(`${where}vector is missing`);
  if (payload === undefined) throw invalid(`${where}payload is missing`);
  const contentType = CONTENT_TYPES.get(payload.contentType);
  if (contentType === undefined) {
    throw outOfRange(`${where}payload.content_type`, payload.contentType, ContentType);
  }
  return { vector, payload: { contentType, content: payload.content } };
}

export function toQuery(request: SearchRequest, where: string): Query {
  const { vector, limit, ef } = request;
  if (vector === undefined) throw invalid(`${where}query_vector is missing`);
  const similarity = SIMILARITIES.get(request.similarity);
  if (similarity === undefined) {
    throw outOfRange(`${where}similarity`, request.similarity, Similarity);
  }
  return { vector, similarity, limit, ef };
}

const CONTENT_TYPES = membersOf(ContentType);
const SIMILARITIES = membersOf(Similarity);

function membersOf<Member extends number>(members: Record<string, Member>) {
  return new Map<number, Member>(Object.values(members).map((member) => [member, member]));
}

function outOfRange(field: string, value: number, members: Record<string, number>): VectordError {
  const expected = Object.entries(members).map(([name, number]) => `${number} (${name})`);
  return invalid(`${field} is ${value}, expected ${expected.join(', ')}`);
}
