import type { SchemaElement } from 'hyparquet-writer';
import { optional } from '../optional.js';
import { groupsOf } from './groups.js';
import type { FullPoint } from './point-columns.js';
import type { PointWriter } from './writer.js';

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;

/** Floats do not repeat, and a dictionary would take 0 and -0 for one. */
const PLAIN = { encoding: 'PLAIN', codec: 'UNCOMPRESSED', statistics: false } as const;

/** A list has three levels in the schema of Parquet. */
const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: 5 },
  { name: 'id', ...TEXT, repetition_type: 'REQUIRED' },
  { name: 'vector', converted_type: 'LIST', num_children: 1, repetition_type: 'REQUIRED' },
  { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
  { name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' },
  { name: 'content', ...TEXT, repetition_type: 'REQUIRED' },
  { name: 'content_type', ...TEXT, repetition_type: 'REQUIRED' },
  { name: 'metadata', ...TEXT, repetition_type: 'OPTIONAL' },
];

/** A table of Parquet: a row group is in memory at a time. */
export async function parquetWriter(dimension: number): Promise<PointWriter> {
  const { ByteWriter, ParquetWriter } = await optional(
    async () => await import('hyparquet-writer'),
    'hyparquet-writer',
    'writing Parquet',
  );
  async function* encode(points: AsyncIterable<FullPoint>): AsyncGenerator<Uint8Array> {
    const bytes = new ByteWriter();
    const taken = (): Uint8Array => {
      const written = bytes.getBytes().slice();
      bytes.index = 0;
      return written;
    };
    const writer = new ParquetWriter({ writer: bytes, schema: SCHEMA });
    for await (const group of groupsOf(points, dimension)) {
      if (group.length > 0) await writer.write(columnsOf(group));
      yield taken();
    }
    await writer.finish();
    yield taken();
  }
  return { hasTexts: false, encode };
}

function columnsOf(points: readonly FullPoint[]) {
  const columnData = [
    { name: 'id', data: points.map(({ id }) => id) },
    { name: 'vector', data: points.map(({ vector }) => Array.from(vector)), ...PLAIN },
    { name: 'content', data: points.map(({ content }) => content) },
    { name: 'content_type', data: points.map(({ contentType }) => contentType) },
    { name: 'metadata', data: points.map(({ metadata }) => metadata ?? null) },
  ];
  return { columnData, rowGroupSize: points.length };
}
