import { kindOf, type FileKind, type Format } from './formats.js';
import { checkColumns, isMapped, type Mapping } from './mapping.js';
import { openArrow } from './read/arrow.js';
import { openCsv } from './read/csv.js';
import { openJsonLines } from './read/json-lines.js';
import { openNpy } from './read/npy.js';
import { openParquet } from './read/parquet.js';
import { withTexts } from './read/texts.js';
import { openVecs } from './read/vecs.js';
import type { Source } from './row.js';
import { UsageError } from './transfer-error.js';

/** Which file is read, and how. */
export interface SourceOptions {
  readonly path: string;
  /** By the name of the file, unless it is given. */
  readonly format: Format | undefined;
  readonly mapping: Mapping;
  /** A file with the contents or the metadata of the rows of .npy, .fvecs and .bvecs. */
  readonly texts: string | undefined;
  /** What separates the cells of CSV; undefined for a comma, of .tsv a tab. */
  readonly delimiter: string | undefined;
}

/** These hold vectors and nothing else, in a column "vector". */
const VECTORS_ONLY: readonly Format[] = ['npy', 'fvecs', 'bvecs'];

/** Opens a file, and refuses one that lacks a column of the mapping. */
export async function openSource(options: SourceOptions): Promise<Source> {
  const { path, format, texts, mapping } = options;
  const kind = kindOf(path, format);
  const isVectorsOnly = VECTORS_ONLY.includes(kind.format);
  if (texts !== undefined && !isVectorsOnly) {
    throw new UsageError(
      `--texts is for ${VECTORS_ONLY.join(', ')}: a row of ${kind.format} has its own content`,
    );
  }
  if (isVectorsOnly && (mapping.vector !== 'vector' || mapping.vectorColumns !== undefined)) {
    throw new UsageError(`--vector and --vector-columns name columns, and ${path} has none`);
  }
  const source = await openFormat(kind, options);
  try {
    if (texts !== undefined) return await withTexts(source, texts, mapping.content);
    if (source.columns !== undefined) checkColumns(path, mapping, source.columns);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

async function openFormat(
  { format, isGzip }: FileKind,
  { path, mapping, delimiter }: SourceOptions,
): Promise<Source> {
  const needs = (column: string): boolean => isMapped(mapping, column);
  switch (format) {
    case 'npy':
      return await openNpy(path, isGzip);
    case 'fvecs':
    case 'bvecs':
      return await openVecs(path, isGzip, format);
    case 'jsonl':
      return await openJsonLines(path, isGzip);
    case 'csv':
      return await openCsv(path, isGzip, delimiter ?? (/\.tsv(?:\.gz)?$/i.test(path) ? '\t' : ','));
    case 'parquet':
      return await openParquet(path, needs);
    case 'arrow':
      return await openArrow(path, needs);
  }
}
