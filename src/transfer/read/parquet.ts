import type { AsyncBuffer, Compressors, FileMetaData, RowGroup, SchemaTree } from 'hyparquet';
import { messageOf } from '../../core/start-error.js';
import { optional } from '../optional.js';
import type { Columns, Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { typeFault } from './column-type.js';
import { faultOf, textOf } from './utf8.js';

/** Decoded at one time where the file has an index of its pages. */
const SLICE_BYTES = 16 * 1024 * 1024;

/** Without such an index a row group is decoded whole, which takes some eleven times its size. */
const MAX_GROUP_BYTES = 160 * 1024 * 1024;

/** The library itself has these. */
const BUILT_IN_CODECS: ReadonlySet<string> = new Set(['UNCOMPRESSED', 'SNAPPY']);

/** What a point is made of, beside lists of these. */
const USABLE =
  /^(BOOLEAN|INT32|INT64|FLOAT|DOUBLE|FLOAT16|U?INT_\d+|INTEGER|UTF8|STRING|ENUM|JSON|NULL)$/;

/** What the library does itself would drop a U+FEFF, and replace what is no UTF-8. */
const PARSERS = { stringFromBytes: textOf, jsonFromBytes: textOf };

/** Some rows of the file, which are decoded together. */
interface Slice {
  readonly start: number;
  readonly end: number;
}

/** A table of Parquet, of which the columns that `needs` names are read. */
export async function openParquet(
  path: string,
  needs: (column: string) => boolean,
): Promise<Source> {
  const use = 'reading Parquet';
  const library = await optional(async () => await import('hyparquet'), 'hyparquet', use);
  const { asyncBufferFromFile, parquetMetadataAsync, parquetSchema, parquetReadObjects } = library;
  const readable = async <Value>(reading: Promise<Value>): Promise<Value> =>
    await reading.catch((error: unknown) => {
      throw new TransferError(`${path} cannot be read as Parquet: ${messageOf(error)}`);
    });
  const file: AsyncBuffer = await readable(asyncBufferFromFile(path));
  const metadata = await readable(parquetMetadataAsync(file, { parsers: PARSERS }));
  const compressors = await compressorsFor(metadata, use);
  const trees = parquetSchema(metadata).children;
  const all = trees.map(({ element }) => element.name);
  const columns = all.filter(needs);
  for (const tree of trees.filter(({ element }) => needs(element.name))) {
    const type = typeOf(itemOf(tree) ?? tree);
    if (!USABLE.test(type)) throw typeFault(path, tree.element.name, type);
  }
  const total = Number(metadata.num_rows);
  let done = 0;
  async function* rows(after: number): AsyncGenerator<Row> {
    for (const { start, end } of slicesOf(path, metadata, columns)) {
      if (end <= after) continue;
      const rowStart = Math.max(start, after);
      const range = { rowStart, rowEnd: end, useOffsetIndex: true };
      const options = { file, metadata, columns, ...range, parsers: PARSERS };
      // oxlint-disable-next-line no-await-in-loop -- one slice after the other
      const found = await readable(
        parquetReadObjects(compressors === undefined ? options : { ...options, compressors }),
      );
      for (const [at, row] of found.entries()) {
        done = rowStart + at + 1;
        yield { number: done, columns: row as Columns, fault: faultOf(row as Columns) };
      }
    }
  }
  return { columns: all, total, rows, share: () => done / total, close: async () => {} };
}

/** What a list consists of, which lies under one level more than others have; undefined for no list. */
function itemOf({ element, children }: SchemaTree): SchemaTree | undefined {
  const [repeated] = element.converted_type === 'LIST' ? children : [];
  return repeated?.children.length === 1 ? repeated.children[0] : repeated;
}

function typeOf({ element, children }: SchemaTree): string {
  const { logical_type: logical, converted_type: converted, type } = element;
  return logical?.type ?? converted ?? type ?? (children.length > 0 ? 'STRUCT' : 'UNKNOWN');
}

async function compressorsFor(
  { row_groups: groups }: FileMetaData,
  use: string,
): Promise<Compressors | undefined> {
  const codecs = groups.flatMap(({ columns }) => columns.map((one) => one.meta_data?.codec));
  const hasOther = codecs.some((codec) => codec !== undefined && !BUILT_IN_CODECS.has(codec));
  if (!hasOther) return undefined;
  const packages = 'hyparquet-compressors';
  const library = await optional(async () => await import('hyparquet-compressors'), packages, use);
  return library.compressors;
}

function* slicesOf(
  path: string,
  { row_groups: groups }: FileMetaData,
  columns: readonly string[],
): Generator<Slice> {
  let start = 0;
  for (const [at, group] of groups.entries()) {
    const end = start + Number(group.num_rows);
    const { bytes, isIndexed } = costOf(group, columns);
    if (!isIndexed && bytes > MAX_GROUP_BYTES) {
      throw new TransferError(
        `${path}: row group ${at + 1} holds ${bytes} bytes of the columns ${columns.join(', ')}, ` +
          `expected at most ${MAX_GROUP_BYTES}, or a page index: write the file with ` +
          'write_page_index=True, or with fewer rows a group, such as row_group_size=50000',
      );
    }
    const slices = isIndexed ? Math.ceil(bytes / SLICE_BYTES) : 1;
    const step = Math.ceil((end - start) / Math.max(1, slices));
    for (let from = start; from < end; from += step) {
      yield { start: from, end: Math.min(end, from + step) };
    }
    start = end;
  }
}

/** What the columns take once they are unpacked, and whether each has an index of its pages. */
function costOf(
  group: RowGroup,
  columns: readonly string[],
): { readonly bytes: number; readonly isIndexed: boolean } {
  const chunks = group.columns.filter(({ meta_data: data }) =>
    columns.includes(data?.path_in_schema[0] ?? ''),
  );
  const sizes = chunks.map(({ meta_data: data }) => Number(data?.total_uncompressed_size ?? 0));
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    isIndexed: chunks.every((chunk) => (chunk.offset_index_length ?? 0) > 0),
  };
}
