import { optional } from '../optional.js';
import { groupsOf } from './groups.js';
import type { FullPoint } from './point-columns.js';
import type { PointWriter } from './writer.js';

/** A file of Arrow (Feather 2), not compressed. */
export async function arrowWriter(dimension: number): Promise<PointWriter> {
  const arrow = await optional(
    async () => await import('apache-arrow'),
    'apache-arrow',
    'writing Arrow',
  );
  const { Field, FixedSizeList, Float32, makeData, makeVector, Schema, Utf8 } = arrow;
  const { AsyncByteQueue, RecordBatch, RecordBatchFileWriter, Struct, vectorFromArray } = arrow;
  const value = new Field('item', new Float32(), false);
  const listType = new FixedSizeList(dimension, value);
  const fields = [
    new Field('id', new Utf8(), false),
    new Field('vector', listType, false),
    new Field('content', new Utf8(), false),
    new Field('content_type', new Utf8(), false),
    new Field('metadata', new Utf8(), true),
  ];
  const schema = new Schema(fields);
  const texts = (values: readonly (string | null)[]) => vectorFromArray(values, new Utf8()).data[0];

  function batchOf(points: readonly FullPoint[]) {
    const { length } = points;
    const floats = new Float32Array(length * dimension);
    for (const [at, { vector }] of points.entries()) floats.set(vector, at * dimension);
    const child = makeData({ type: new Float32(), length: floats.length, data: floats });
    const vectors = makeVector(makeData({ type: listType, length, nullCount: 0, child })).data[0];
    const columns = [
      texts(points.map(({ id }) => id)),
      vectors,
      texts(points.map(({ content }) => content)),
      texts(points.map(({ contentType }) => contentType)),
      texts(points.map(({ metadata }) => metadata ?? null)),
    ];
    const children = columns.filter((column) => column !== undefined);
    return new RecordBatch(schema, makeData({ type: new Struct(fields), length, children }));
  }

  /** Keeps what the writer writes until it is handed on. */
  class Chunks extends AsyncByteQueue<Uint8Array> {
    #bytes: Uint8Array[] = [];

    override write(bytes: Uint8Array): void {
      this.#bytes.push(bytes);
    }

    take(): Uint8Array {
      const bytes = Buffer.concat(this.#bytes);
      this.#bytes = [];
      return bytes;
    }
  }

  async function* encode(points: AsyncIterable<FullPoint>): AsyncGenerator<Uint8Array> {
    const chunks = new Chunks();
    const writer = new RecordBatchFileWriter().reset(chunks, schema);
    for await (const group of groupsOf(points, dimension)) {
      writer.write(batchOf(group));
      yield chunks.take();
    }
    writer.close();
    yield chunks.take();
  }
  return { hasTexts: false, encode };
}
