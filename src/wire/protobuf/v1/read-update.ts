import { ContentType } from '../../../core/model.js';
import { isNilAt, POINT_ID_BYTES } from '../../../core/point-id.js';
import { Given, type UpdateBatch } from '../../../core/records.js';
import { checkBatchSize, type Rules } from '../../../core/rules.js';
import { invalid } from '../../../core/errors.js';
import { describeUpsert, toUpdateBatch } from '../../../core/upserts.js';
import { countItems } from '../read-items.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { readContentType } from './enums.js';
import { Contents, MetadataTexts } from './payloads.js';
import { readId } from './read-ids.js';
import { readCollection, readFields, readMessage } from './strict.js';

const POINTS = tagOf(1, WireType.LengthDelimited);
const COLLECTION = tagOf(2, WireType.LengthDelimited);

const ID = tagOf(1, WireType.LengthDelimited);
const CONTENT = tagOf(2, WireType.LengthDelimited);
const CONTENT_TYPE = tagOf(3, WireType.Varint);
const METADATA = tagOf(4, WireType.LengthDelimited);

/** Reads an UpdateRequest. */
export function readUpdate(bytes: Uint8Array, rules: Rules, maxFields?: number): UpdateBatch {
  const { limits } = rules;
  const count = countItems(bytes, maxFields);
  checkBatchSize(limits, 'points', count);
  const reader = new WireReader(bytes, maxFields);
  const ids = new Uint8Array(count * POINT_ID_BYTES);
  const given = new Uint8Array(count);
  const contentTypes = new Uint8Array(count).fill(ContentType.Text);
  const contents = new Contents(bytes.length, count, limits.maxContentBytes);
  const metadata = new MetadataTexts(bytes.length, count);
  let item = 0;
  const give = (part: number): void => void (given[item] = (given[item] ?? 0) | part);
  const readPointField = (tag: number): boolean => {
    switch (tag) {
      case ID:
        ids.set(readId(reader, `${describeUpsert(item)}id`), item * POINT_ID_BYTES);
        return true;
      case CONTENT:
        give(Given.Content);
        contents.read(reader);
        return true;
      case CONTENT_TYPE:
        give(Given.ContentType);
        contentTypes[item] = readContentType(reader, describeUpsert(item));
        return true;
      case METADATA:
        give(Given.Metadata);
        metadata.read(reader);
        return true;
      default:
        return false;
    }
  };
  readFields(reader, 'the request', (tag) => {
    if (tag === POINTS) {
      readMessage(reader, `points[${item}]`, readPointField);
      if (isNilAt(ids, item)) {
        throw invalid(`${describeUpsert(item)}id is missing, expected the id of a point`);
      }
      contents.end();
      metadata.end();
      item += 1;
    } else if (tag === COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  const list = {
    ids,
    given,
    contentTypes,
    ...contents.list,
    contentFault: contents.fault,
    ...metadata.check(limits),
  };
  return toUpdateBatch(list, rules);
}
