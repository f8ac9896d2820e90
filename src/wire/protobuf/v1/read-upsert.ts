import { checkBatchSize, type Rules } from '../../../core/rules.js';
import { toUpsertBatch, type UpsertRequest } from '../../../core/upserts.js';
import { ByteArena } from '../byte-arena.js';
import { countItems } from '../read-items.js';
import { readFloats } from '../read-vector.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { Payloads } from './payloads.js';
import { readBool, readCollection, readFields, readMessage } from './strict.js';

const POINTS = tagOf(1, WireType.LengthDelimited);
const IF_ABSENT = tagOf(2, WireType.Varint);
const COLLECTION = tagOf(3, WireType.LengthDelimited);

const ID = tagOf(1, WireType.LengthDelimited);
const PACKED_VECTOR = tagOf(2, WireType.LengthDelimited);
const VECTOR_VALUE = tagOf(2, WireType.Fixed32);
const CONTENT = tagOf(3, WireType.LengthDelimited);
const CONTENT_TYPE = tagOf(4, WireType.Varint);
const METADATA = tagOf(5, WireType.LengthDelimited);

/** Reads an UpsertRequest or an UpsertStreamRequest. */
export function readUpsert(bytes: Uint8Array, rules: Rules, maxFields?: number): UpsertRequest {
  const count = countItems(bytes, maxFields);
  checkBatchSize(rules.limits, 'points', count);
  const reader = new WireReader(bytes, maxFields);
  const payloads = new Payloads(reader, count, rules.limits);
  const values = new ByteArena(bytes.length);
  const vectorEnds = new Uint32Array(count);
  let keeps = false;
  const readPointField = (tag: number): boolean => {
    if (tag === ID) payloads.readId();
    else if (tag === PACKED_VECTOR || tag === VECTOR_VALUE) readFloats(reader, tag, values);
    else if (tag === CONTENT) payloads.readContent();
    else if (tag === CONTENT_TYPE) payloads.readContentType();
    else if (tag === METADATA) payloads.readMetadata();
    else return false;
    return true;
  };
  readFields(reader, 'the request', (tag) => {
    if (tag === POINTS) {
      const { item } = payloads;
      readMessage(reader, `points[${item}]`, readPointField);
      vectorEnds[item] = values.length / Float32Array.BYTES_PER_ELEMENT;
      payloads.next();
    } else if (tag === IF_ABSENT) keeps = readBool(reader);
    else if (tag === COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  const list = { ...payloads.list(), vectors: values.floatsFrom(0), vectorEnds };
  return { ...toUpsertBatch(list, rules), keeps };
}
