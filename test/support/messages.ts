import fc from 'fast-check';
import * as wire from './wire.js';

/** A field that the contract does not have, of any wire type. */
export const unknownField: fc.Arbitrary<Buffer> = fc.letrec<{ field: Buffer }>((tie) => {
  const number = fc.integer({ min: 5, max: 2 ** 29 - 1 });
  const leaf = fc.oneof(
    fc.tuple(number, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map((at) => wire.integer(...at)),
    fc.tuple(number, fc.uint8Array({ maxLength: 9 })).map((at) => wire.delimited(...at)),
    fc.tuple(number, bytesOf(4)).map((at) => wire.fixed(...at)),
    fc.tuple(number, bytesOf(8)).map((at) => wire.fixed(...at)),
  );
  const nested = fc
    .tuple(number, fc.array(tie('field'), { maxLength: 2 }))
    .map(([field, content]) => wire.group(field, ...content));
  return { field: fc.oneof({ maxDepth: 3 }, leaf, nested) };
}).field;

function bytesOf(count: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: count, maxLength: count });
}

/** Some fields, each any number of times, in any order, with unknown ones between them. */
export function fields(...known: fc.Arbitrary<Buffer>[]): fc.Arbitrary<Buffer> {
  return fc
    .array(fc.oneof(...known, ...known, unknownField), { maxLength: 6 })
    .map((parts) => Buffer.concat(parts));
}

export function messageField(number: number, content: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return content.map((bytes) => wire.delimited(number, bytes));
}

const values = fc.array(fc.float(), { maxLength: 5 });
const vector = fields(values.map(wire.packed), values.map(wire.unpacked));
const anyInteger = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
const enumeration = fc.oneof(fc.integer({ min: -1, max: 4 }), anyInteger);
const text = fc.string({ unit: 'binary', maxLength: 9 });
const payload = fields(
  enumeration.map((value) => wire.integer(1, value)),
  text.map((content) => wire.delimited(2, content)),
);

/** An InsertVectorRequest: protobuf in every layout, though seldom what the service takes. */
export const insert = fields(messageField(1, vector), messageField(2, payload));

/** A SearchRequest, likewise. */
export const search = fields(
  messageField(1, vector),
  enumeration.map((value) => wire.integer(2, value)),
  anyInteger.map((value) => wire.integer(3, value)),
  anyInteger.map((value) => wire.integer(4, value)),
);

/** A PointID, likewise, of one of these ids or of none. */
export function pointId(ids: readonly string[]): fc.Arbitrary<Buffer> {
  const id = fc.oneof(fc.constantFrom(...ids), fc.uuid(), text);
  return fields(messageField(1, fields(id.map((value) => wire.delimited(1, value)))));
}

/** A ServerReflectionRequest of any texts and numbers. */
export const reflectionRequest = fields(
  ...[1, 3, 4, 6, 7].map((field) =>
    fc
      .oneof(fc.constantFrom('', 'vectordb.VectorDB', 'vectordb/vectordb.proto', '__proto__'), text)
      .map((name) => wire.delimited(field, name)),
  ),
  messageField(
    5,
    fields(
      fc.constantFrom('vectordb.Point', '').map((name) => wire.delimited(1, name)),
      anyInteger.map((number) => wire.integer(2, number)),
    ),
  ),
);
