/**
 * What the encoding of protobuf says of a message: without any of the service's code, and plain
 * enough to be checked by reading. Unlike the codecs of libraries it takes no shortcut: a field of
 * another wire type is unknown, a length has 64 bits, and a message that comes twice is merged.
 */

/** The fields of a message by their numbers. */
export type Schema = ReadonlyMap<number, readonly [name: string, kind: Kind]>;

export type Kind =
  | 'int32'
  | 'uint64'
  | 'string'
  | 'floats'
  | { readonly message: Schema }
  | { readonly messages: Schema };

export type Message = Record<string, unknown>;

const MAX_VARINT_BYTES = 10;
const MAX_TAG = 2n ** 32n - 1n;
const MAX_GROUP_DEPTH = 100;

const UUID: Schema = new Map([[1, ['value', 'string']]]);
export const DENSE_VECTOR: Schema = new Map([[1, ['values', 'floats']]]);
export const PAYLOAD: Schema = new Map([
  [1, ['contentType', 'int32']],
  [2, ['content', 'string']],
]);

export const POINT_ID: Schema = new Map([[1, ['id', { message: UUID }]]]);
export const INSERT: Schema = new Map([
  [1, ['vector', { message: DENSE_VECTOR }]],
  [2, ['payload', { message: PAYLOAD }]],
]);
export const INSERT_BATCH: Schema = new Map([[1, ['vectors', { messages: INSERT }]]]);
export const SEARCH: Schema = new Map([
  [1, ['queryVector', { message: DENSE_VECTOR }]],
  [2, ['similarity', 'int32']],
  [3, ['limit', 'uint64']],
  [4, ['ef', 'uint64']],
]);
export const SEARCH_BATCH: Schema = new Map([[1, ['queries', { messages: SEARCH }]]]);

const EXTENSION: Schema = new Map([
  [1, ['containingType', 'string']],
  [2, ['extensionNumber', 'int32']],
]);
export const REFLECTION: Schema = new Map([
  [1, ['host', 'string']],
  [3, ['fileByFilename', 'string']],
  [4, ['fileContainingSymbol', 'string']],
  [5, ['fileContainingExtension', { message: EXTENSION }]],
  [6, ['allExtensionNumbersOfType', 'string']],
  [7, ['listServices', 'string']],
]);

/** Throws where the bytes are not protobuf. */
export function decode(schema: Schema, bytes: Uint8Array, earlier = empty(schema)): Message {
  const message = { ...earlier };
  for (const { number, wireType, value } of readFields(new Cursor(bytes))) {
    const [name = '', kind] = schema.get(number) ?? [];
    if (kind === undefined) continue;
    if (typeof value === 'bigint') {
      if (kind === 'int32') message[name] = Number(BigInt.asIntN(32, value));
      if (kind === 'uint64') message[name] = value;
    } else if (kind === 'floats' && (wireType === 2 || wireType === 5)) {
      message[name] = [...(message[name] as number[]), ...toFloats(value)];
    } else if (wireType === 2 && kind === 'string') {
      message[name] = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
    } else if (wireType === 2 && typeof kind === 'object') {
      message[name] =
        'message' in kind
          ? decode(kind.message, value, message[name] as Message | undefined)
          : [...(message[name] as Message[]), decode(kind.messages, value)];
    }
  }
  return message;
}

function empty(schema: Schema): Message {
  const values = { int32: 0, uint64: 0n, string: '', floats: [] };
  return Object.fromEntries(
    Array.from(schema.values(), ([name, kind]) => {
      if (typeof kind === 'string') return [name, values[kind]];
      return [name, 'messages' in kind ? [] : undefined];
    }),
  );
}

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** A varint, or the bytes of anything else; of a group none. */
  readonly value: bigint | Uint8Array;
}

class Cursor {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  take(count: number | bigint): Uint8Array {
    if (count > this.bytes.length - this.at) throw new Error('the message ends too early');
    this.at += Number(count);
    return this.bytes.subarray(this.at - Number(count), this.at);
  }

  varint(): bigint {
    let value = 0n;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const [byte = 0] = this.take(1);
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return value;
    }
    throw new Error('a varint is too long');
  }
}

function readFields(cursor: Cursor): Field[] {
  const fields: Field[] = [];
  while (cursor.at < cursor.bytes.length) fields.push(readField(cursor, 1));
  if (fields.some(({ wireType }) => wireType === 4)) throw new Error('no group is open');
  return fields;
}

function readField(cursor: Cursor, depth: number): Field {
  const tag = cursor.varint();
  const [number, wireType] = [Number(tag >> 3n), Number(tag & 7n)];
  if (tag > MAX_TAG || number === 0) throw new Error('a tag is none');
  return { number, wireType, value: readValue(cursor, number, wireType, depth) };
}

function readValue(
  cursor: Cursor,
  number: number,
  wireType: number,
  depth: number,
): bigint | Uint8Array {
  switch (wireType) {
    case 0:
      return BigInt.asUintN(64, cursor.varint());
    case 1:
      return cursor.take(8);
    case 2:
      return cursor.take(cursor.varint());
    case 3:
      skipGroup(cursor, number, depth);
      return new Uint8Array();
    case 4:
      return new Uint8Array();
    case 5:
      return cursor.take(4);
    default:
      throw new Error('a wire type is none');
  }
}

function skipGroup(cursor: Cursor, number: number, depth: number): void {
  if (depth > MAX_GROUP_DEPTH) throw new Error('groups nest too deep');
  for (;;) {
    const field = readField(cursor, depth + 1);
    if (field.wireType !== 4) continue;
    if (field.number !== number) throw new Error('another group ends');
    return;
  }
}

function toFloats(bytes: Uint8Array): number[] {
  if (bytes.length % 4 !== 0) throw new Error('half a float');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(4 * index, true));
}
