import { invalid } from '../../../core/errors.js';
import { isNilAt } from '../../../core/point-id.js';
import { Given, type UpdateBatch } from '../../../core/records.js';
import { checkBatchSize, type Rules } from '../../../core/rules.js';
import { describeUpsert, toUpdateBatch } from '../../../core/upserts.js';
import { countItems } from '../read-items.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { Payloads } from './payloads.js';
import { readCollection, readFields, readMessage } from './strict.js';

const POINTS = tagOf(1, WireType.LengthDelimited);
const COLLECTION = tagOf(2, WireType.LengthDelimited);

const ID = tagOf(1, WireType.LengthDelimited);
const CONTENT = tagOf(2, WireType.LengthDelimited);
const CONTENT_TYPE = tagOf(3, WireType.Varint);
const METADATA = tagOf(4, WireType.LengthDelimited);

/** The part of a payload that a field gives. */
const PARTS: ReadonlyMap<number, number> = new Map([
  [CONTENT, Given.Content],
  [CONTENT_TYPE, Given.ContentType],
  [METADATA, Given.Metadata],
]);

/** Reads an UpdateRequest. */
export function readUpdate(bytes: Uint8Array, rules: Rules, maxFields?: number): UpdateBatch {
  const count = countItems(bytes, maxFields);
  checkBatchSize(rules.limits, 'points', count);
  const reader = new WireReader(bytes, maxFields);
  const payloads = new Payloads(reader, count, rules.limits);
  const given = new Uint8Array(count);
  const readPointField = (tag: number): boolean => {
    if (tag === ID) payloads.readId();
    else if (tag === CONTENT) payloads.readContent();
    else if (tag === CONTENT_TYPE) payloads.readContentType();
    else if (tag === METADATA) payloads.readMetadata();
    else return false;
    const { item } = payloads;
    given[item] = (given[item] ?? 0) | (PARTS.get(tag) ?? 0);
    return true;
  };
  readFields(reader, 'the request', (tag) => {
    if (tag === POINTS) {
      const { item, ids } = payloads;
      readMessage(reader, `points[${item}]`, readPointField);
      if (isNilAt(ids, item)) {
        throw invalid(`${describeUpsert(item)}id is missing, expected the id of a point`);
      }
      payloads.next();
    } else if (tag === COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  return toUpdateBatch({ ...payloads.list(), given }, rules);
}
