import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as wire from '../../../test/support/wire.js';
import { VectordError } from '../../errors.js';
import { descriptorSet } from '../../gen/descriptor-set.js';
import * as generated from '../../gen/vectordb/vectordb.js';
import { readInsert, readInsertBatch } from './read-insert.js';
import { readSearch, readSearchBatch } from './read-search.js';

const anyCount = (): void => {};
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));

/** Our decoder of a message beside what generated and protobuf-es make of it, in our shape. */
interface Decoder {
  readonly name: string;
  readonly ours: (bytes: Uint8Array) => unknown;
  readonly fromMessage: (message: never) => unknown;
  readonly generatedDecode: (bytes: Uint8Array) => unknown;
  readonly message: fc.Arbitrary<Buffer>;
}

function insertOf({ vector, payload }: generated.InsertVectorRequest): unknown {
  return {
    vector: vector && Float32Array.from(vector.values),
    payload: payload && { contentType: payload.contentType, content: payload.content },
  };
}

function searchOf({ queryVector, ...rest }: generated.SearchRequest): unknown {
  const { similarity, limit, ef } = rest;
  return { vector: queryVector && Float32Array.from(queryVector.values), similarity, limit, ef };
}

/** A field that the contract does not have, of any wire type. */
const unknownField: fc.Arbitrary<Buffer> = fc.letrec<{ field: Buffer }>((tie) => {
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
function fields(...known: fc.Arbitrary<Buffer>[]): fc.Arbitrary<Buffer> {
  return fc
    .array(fc.oneof(...known, ...known, unknownField), { maxLength: 6 })
    .map((parts) => Buffer.concat(parts));
}

function messageField(number: number, content: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
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
const insert = fields(messageField(1, vector), messageField(2, payload));
const search = fields(
  messageField(1, vector),
  enumeration.map((value) => wire.integer(2, value)),
  anyInteger.map((value) => wire.integer(3, value)),
  anyInteger.map((value) => wire.integer(4, value)),
);

const decoders: readonly Decoder[] = [
  {
    name: 'InsertVectorRequest',
    ours: readInsert,
    fromMessage: insertOf,
    generatedDecode: generated.InsertVectorRequest.decode,
    message: insert,
  },
  {
    name: 'InsertVectorsBatchRequest',
    ours: (bytes) => readInsertBatch(bytes, anyCount),
    fromMessage: ({ vectors }: generated.InsertVectorsBatchRequest) => vectors.map(insertOf),
    generatedDecode: generated.InsertVectorsBatchRequest.decode,
    message: fields(messageField(1, insert)),
  },
  {
    name: 'SearchRequest',
    ours: readSearch,
    fromMessage: searchOf,
    generatedDecode: generated.SearchRequest.decode,
    message: search,
  },
  {
    name: 'SearchPointsBatchRequest',
    ours: (bytes) => readSearchBatch(bytes, anyCount),
    fromMessage: ({ queries }: generated.SearchPointsBatchRequest) => queries.map(searchOf),
    generatedDecode: generated.SearchPointsBatchRequest.decode,
    message: fields(messageField(1, search)),
  },
];

const MALFORMED = 'malformed';

/** What a decoder makes of the bytes, where what may be wrong with them is named by `isExpected`. */
function outcome(decode: () => unknown, isExpected: (error: unknown) => boolean): unknown {
  try {
    return decode();
  } catch (error) {
    if (isExpected(error)) return MALFORMED;
    throw error;
  }
}

/** Ours may throw nothing but what the client is to hear. */
function isInvalid(error: unknown): boolean {
  return error instanceof VectordError && error.code === 'INVALID_ARGUMENT';
}

const isAnything = (): boolean => true;

describe.each(decoders)('$name', ({ name, ours, fromMessage, generatedDecode, message }) => {
  const descriptor = registry.getMessage(`vectordb.${name}`);
  if (descriptor === undefined) throw new Error(`no descriptor of ${name}`);
  const reference = (bytes: Uint8Array): unknown =>
    fromMessage(fromBinary(descriptor, bytes) as never);

  test('decodes as protobuf-es does, whatever the order, repetition and layout of fields', () => {
    fc.assert(
      fc.property(message, (bytes) => {
        expect(ours(bytes)).toEqual(reference(bytes));
      }),
    );
  });

  test('a truncated message is malformed or means what protobuf-es says', () => {
    fc.assert(
      fc.property(message, (bytes) => {
        for (let length = 0; length < bytes.length; length += 1) {
          const part = bytes.subarray(0, length);
          expect(outcome(() => ours(part), isInvalid)).toEqual(
            outcome(() => reference(part), isAnything),
          );
        }
      }),
    );
  });

  test('random bytes are malformed or a message, and never another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        outcome(() => ours(bytes), isInvalid);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a message with a few bytes changed is malformed or a message', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(message, fc.array(change, { minLength: 1, maxLength: 3 }), (bytes, changes) => {
        for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
        outcome(() => ours(bytes), isInvalid);
      }),
      { numRuns: 1_000 },
    );
  });

  test('decodes what the generated codec encodes as the generated codec decodes it', () => {
    fc.assert(
      fc.property(canonical(name), (bytes) => {
        expect(ours(bytes)).toEqual(fromMessage(generatedDecode(bytes) as never));
        for (let length = 0; length < bytes.length; length += 1) {
          const part = bytes.subarray(0, length);
          const decoded = outcome(() => ours(part), isInvalid);
          if (decoded === MALFORMED) continue;
          expect(decoded).toEqual(fromMessage(generatedDecode(part) as never));
        }
      }),
    );
  });
});

/** Messages as the generated encoder writes them. */
function canonical(name: string): fc.Arbitrary<Uint8Array> {
  const denseVector = fc.option(fc.record({ values }), { nil: undefined });
  const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const insertion: fc.Arbitrary<generated.InsertVectorRequest> = fc.record({
    vector: denseVector,
    payload: fc.option(
      fc.record({ contentType: fc.constantFrom(0, 1), content: fc.string({ unit: 'grapheme' }) }),
      { nil: undefined },
    ),
  });
  const query: fc.Arbitrary<generated.SearchRequest> = fc.record({
    queryVector: denseVector,
    similarity: fc.constantFrom(0, 1, 2, 3),
    limit: uint64,
    ef: uint64,
  });
  const items = { maxLength: 3 };
  const encoded: Record<string, fc.Arbitrary<Uint8Array>> = {
    InsertVectorRequest: insertion.map((it) => generated.InsertVectorRequest.encode(it).finish()),
    InsertVectorsBatchRequest: fc
      .array(insertion, items)
      .map((vectors) => generated.InsertVectorsBatchRequest.encode({ vectors }).finish()),
    SearchRequest: query.map((it) => generated.SearchRequest.encode(it).finish()),
    SearchPointsBatchRequest: fc
      .array(query, items)
      .map((queries) => generated.SearchPointsBatchRequest.encode({ queries }).finish()),
  };
  const arbitrary = encoded[name];
  if (arbitrary === undefined) throw new Error(`no generator of ${name}`);
  return arbitrary;
}
