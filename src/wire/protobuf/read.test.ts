import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../../../test/support/fuzz.js';
import { fields, insert, messageField, pointId, search } from '../../../test/support/messages.js';
import { mutated } from '../../../test/support/mutate.js';
import * as wire from '../../../test/support/reference-protobuf.js';
import { VectordError } from '../../core/errors.js';
import { descriptorSet } from '../../gen/descriptor-set.js';
import * as generated from '../../gen/vectordb/vectordb.js';
import { readInsert, readInsertBatch } from './read-insert.js';
import { readPointId } from './read-point-id.js';
import { readSearch, readSearchBatch } from './read-search.js';

const anyCount = (): void => {};
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));

/** Our decoder of a message beside what generated and protobuf-es make of it, in our shape. */
interface Decoder {
  readonly name: string;
  readonly ours: (bytes: Uint8Array) => unknown;
  readonly fromMessage: (message: never) => unknown;
  readonly generatedDecode: (bytes: Uint8Array) => unknown;
  /** For messages in which fields have other wire types, which protobuf-es takes no notice of. */
  readonly schema: wire.Schema;
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

const values = fc.array(fc.float(), { maxLength: 5 });

const decoders: readonly Decoder[] = [
  {
    name: 'InsertVectorRequest',
    ours: readInsert,
    fromMessage: insertOf,
    generatedDecode: generated.InsertVectorRequest.decode,
    schema: wire.INSERT,
    message: insert,
  },
  {
    name: 'InsertVectorsBatchRequest',
    ours: (bytes) => readInsertBatch(bytes, anyCount),
    fromMessage: ({ vectors }: generated.InsertVectorsBatchRequest) => vectors.map(insertOf),
    generatedDecode: generated.InsertVectorsBatchRequest.decode,
    schema: wire.INSERT_BATCH,
    message: fields(messageField(1, insert)),
  },
  {
    name: 'SearchRequest',
    ours: readSearch,
    fromMessage: searchOf,
    generatedDecode: generated.SearchRequest.decode,
    schema: wire.SEARCH,
    message: search,
  },
  {
    name: 'SearchPointsBatchRequest',
    ours: (bytes) => readSearchBatch(bytes, anyCount),
    fromMessage: ({ queries }: generated.SearchPointsBatchRequest) => queries.map(searchOf),
    generatedDecode: generated.SearchPointsBatchRequest.decode,
    schema: wire.SEARCH_BATCH,
    message: fields(messageField(1, search)),
  },
  {
    name: 'PointID',
    ours: readPointId,
    fromMessage: ({ id }: generated.PointID) => ({ id: id && { value: id.value } }),
    generatedDecode: generated.PointID.decode,
    schema: wire.POINT_ID,
    message: pointId(['9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b']),
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

describe.each(decoders)('$name', (decoder) => {
  const { name, ours, fromMessage, generatedDecode, schema, message } = decoder;
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

  test(
    'a message with mistakes in it is malformed, or means what the wire format says',
    () => {
      fc.assert(
        fc.property(mutated(message), (bytes) => {
          const decoded = outcome(() => ours(bytes), isInvalid);
          const expected = outcome(
            () => fromMessage(wire.decode(schema, bytes) as never),
            isAnything,
          );
          expect(decoded).toEqual(expected);
        }),
        fuzzing(1_000),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

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
    PointID: fc
      .option(fc.record({ value: fc.string({ unit: 'grapheme' }) }), { nil: undefined })
      .map((id) => generated.PointID.encode({ id }).finish()),
    SearchRequest: query.map((it) => generated.SearchRequest.encode(it).finish()),
    SearchPointsBatchRequest: fc
      .array(query, items)
      .map((queries) => generated.SearchPointsBatchRequest.encode({ queries }).finish()),
  };
  const arbitrary = encoded[name];
  if (arbitrary === undefined) throw new Error(`no generator of ${name}`);
  return arbitrary;
}
