import { invalid, type VectordError } from '../../../core/errors.js';
import { quote } from '../quote.js';
import { tagOf, WireType, type WireReader } from '../wire-reader.js';
import { readBool, readMessage } from './strict.js';

/*
 * Reads a Filter into the JSON of the same meaning, so that there is one set of rules. Whether it
 * keeps to them, the addon checks.
 */

/** How deep messages are read. The addon says what is wrong with a filter that is deeper. */
const MAX_DEPTH = 34;

const ALL = tagOf(1, WireType.LengthDelimited);
const ANY = tagOf(2, WireType.LengthDelimited);
const NEGATED = tagOf(3, WireType.LengthDelimited);
const CONDITION = tagOf(4, WireType.LengthDelimited);

const FILTERS = tagOf(1, WireType.LengthDelimited);

const FIELD = tagOf(1, WireType.LengthDelimited);
const EXISTS = tagOf(10, WireType.Varint);

/** The operators of one value, and of several. */
const OPERATORS = byTag(2, ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte']);
const LIST_OPERATORS = byTag(8, ['$in', '$nin']);

const VALUES = tagOf(1, WireType.LengthDelimited);

const TEXT = tagOf(1, WireType.LengthDelimited);
const NUMBER = tagOf(2, WireType.Fixed64);
const BOOLEAN = tagOf(3, WireType.Varint);

/** Fields of the metadata may not begin with it. */
const RESERVED = '$';
const OWN_FIELDS: ReadonlySet<string> = new Set(['$id', '$content_type']);

/** The Filter that follows, as JSON; of different fields the last counts. */
export function readFilter(reader: WireReader, path: string, earlier?: string, depth = 0): string {
  if (earlier) throw givenTwice(path);
  if (depth > MAX_DEPTH) {
    reader.skipBytes(reader.length());
    return '{}';
  }
  let text = '{}';
  let before: number | undefined;
  readMessage(reader, path, (tag) => {
    if (tag === before) throw givenTwice(fieldOf(tag, path));
    before = tag;
    if (tag === ALL) text = `{"$and":${readList(reader, `${path}.$and`, depth + 1)}}`;
    else if (tag === ANY) text = `{"$or":${readList(reader, `${path}.$or`, depth + 1)}}`;
    else if (tag === NEGATED)
      text = `{"$not":${readFilter(reader, `${path}.$not`, undefined, depth + 1)}}`;
    else if (tag === CONDITION) text = readCondition(reader, path);
    else return false;
    return true;
  });
  return text;
}

function readList(reader: WireReader, path: string, depth: number): string {
  const filters: string[] = [];
  readMessage(reader, path, (tag) => {
    if (tag !== FILTERS) return false;
    filters.push(readFilter(reader, `${path}[${filters.length}]`, undefined, depth));
    return true;
  });
  return `[${filters.join(',')}]`;
}

function readCondition(reader: WireReader, where: string): string {
  const path = `${where}.condition`;
  let field = '';
  let test: string | undefined;
  let before: number | undefined;
  readMessage(reader, path, (tag) => {
    if (tag !== FIELD) {
      if (tag === before) throw givenTwice(fieldOf(tag, path));
      before = tag;
    }
    const operator = OPERATORS.get(tag);
    const listOperator = LIST_OPERATORS.get(tag);
    if (tag === FIELD) field = reader.string();
    else if (operator !== undefined) test = `"${operator}":${readValue(reader, path)}`;
    else if (listOperator !== undefined) test = `"${listOperator}":${readValues(reader, path)}`;
    else if (tag === EXISTS) test = `"$exists":${readBool(reader)}`;
    else return false;
    return true;
  });
  if (field.startsWith(RESERVED) && !OWN_FIELDS.has(field)) {
    const expected = 'a key of metadata, "$id" or "$content_type"';
    throw invalid(`${path}.field is ${quote(field)}, expected ${expected}`);
  }
  return `{${JSON.stringify(field)}:{${test ?? missing(path, 'a test')}}}`;
}

function readValues(reader: WireReader, path: string): string {
  const values: string[] = [];
  readMessage(reader, path, (tag) => {
    if (tag !== VALUES) return false;
    values.push(readValue(reader, path));
    return true;
  });
  return `[${values.join(',')}]`;
}

function readValue(reader: WireReader, path: string): string {
  let value: string | undefined;
  readMessage(reader, path, (tag) => {
    if (tag === TEXT) value = JSON.stringify(reader.string());
    else if (tag === NUMBER) value = numberText(reader.double(), path);
    else if (tag === BOOLEAN) value = String(readBool(reader));
    else return false;
    return true;
  });
  return value ?? missing(path, 'text, number or boolean');
}

/** JSON takes whole numbers of any size only if they are written with an exponent. */
function numberText(value: number, path: string): string {
  if (!Number.isFinite(value)) throw invalid(`${path}: ${value} is no finite number`);
  return Number.isSafeInteger(value) ? String(value) : value.toExponential();
}

/** Protobuf has the two merged: to take the last alone would let more points pass. */
function givenTwice(field: string): VectordError {
  return invalid(`${field} is given twice, expected it once`);
}

function fieldOf(tag: number, path: string): string {
  return `field ${tag >>> 3} of ${path}`;
}

function missing(path: string, expected: string): never {
  throw invalid(`${path} is empty, expected ${expected}`);
}

function byTag(first: number, operators: readonly string[]): ReadonlyMap<number, string> {
  return new Map(
    operators.map((operator, index) => [tagOf(first + index, WireType.LengthDelimited), operator]),
  );
}
