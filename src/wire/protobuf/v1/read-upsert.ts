import { checkBatchSize, type Rules } from '../../../core/rules.js';
import { describeUpsert, toUpsertBatch, type UpsertRequest } from '../../../core/upserts.js';
import { ContentType } from '../../../core/model.js';
import { POINT_ID_BYTES } from '../../../core/point-id.js';
import { ByteArena } from '../byte-arena.js';
import { countItems } from '../read-items.js';
import { readFloats } from '../read-vector.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { readContentType } from './enums.js';
import { Contents, MetadataTexts } from './payloads.js';
import { readId } from './read-ids.js';
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
  const { limits } = rules;
  const count = countItems(bytes, maxFields);
  checkBatchSize(limits, 'points', count);
  const reader = new WireReader(bytes, maxFields);
  const ids = new Uint8Array(count * POINT_ID_BYTES);
  const values = new ByteArena(bytes.length);
  const vectorEnds = new Uint32Array(count);
  const contentTypes = new Uint8Array(count).fill(ContentType.Text);
  const contents = new Contents(bytes.length, count, limits.maxContentBytes);
  const metadata = new MetadataTexts(bytes.length, count);
  let keeps = false;
  let item = 0;
  const readPointField = (tag: number): boolean => {
    switch (tag) {
      case ID:
        ids.set(readId(reader, `${describeUpsert(item)}id`), item * POINT_ID_BYTES);
        return true;
      case PACKED_VECTOR:
      case VECTOR_VALUE:
        readFloats(reader, tag, values);
        return true;
      case CONTENT:
        contents.read(reader);
        return true;
      case CONTENT_TYPE:
        contentTypes[item] = readContentType(reader, describeUpsert(item));
        return true;
      case METADATA:
        metadata.read(reader);
        return true;
      default:
        return false;
    }
  };
  readFields(reader, 'the request', (tag) => {
    if (tag === POINTS) {
      readMessage(reader, `points[${item}]`, readPointField);
      vectorEnds[item] = values.length / Float32Array.BYTES_PER_ELEMENT;
      contents.end();
      metadata.end();
      item += 1;
    } else if (tag === IF_ABSENT) keeps = readBool(reader);
    else if (tag === COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  const list = {
    ids,
    vectors: values.floatsFrom(0),
    vectorEnds,
    contentTypes,
    ...contents.list,
    contentFault: contents.fault,
    ...metadata.check(limits),
  };
  return { ...toUpsertBatch(list, rules), keeps };
}
