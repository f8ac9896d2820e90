import { TransferError } from './transfer-error.js';

/** How a cell of text becomes a value of metadata. */
export const VALUE_TYPES = ['text', 'number', 'boolean', 'json'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

/** A column that becomes a field of the metadata, as it is unless a type says what it has to be. */
export interface MetadataColumn {
  readonly name: string;
  readonly type: ValueType | undefined;
}

/** What a NaN in a column of metadata is: a fault of its row, or an empty cell. */
export const ON_NAN = ['refused', 'empty'] as const;
export type OnNan = (typeof ON_NAN)[number];

/** The names of the columns that a point is made of. */
export interface Mapping {
  readonly id: string;
  readonly vector: string;
  /** A name with one `*` for the position of a value, where each value has a column of its own. */
  readonly vectorColumns: string | undefined;
  readonly content: string;
  readonly contentType: string;
  readonly metadata: string;
  readonly metadataColumns: readonly MetadataColumn[];
  readonly nan: OnNan;
}

export const DEFAULT_MAPPING: Mapping = {
  id: 'id',
  vector: 'vector',
  vectorColumns: undefined,
  content: 'content',
  contentType: 'content_type',
  metadata: 'metadata',
  metadataColumns: [],
  nan: 'refused',
};

/** Columns of metadata as they are given: names between commas, each with its type or without. */
export function parseMetadataColumns(text: string): readonly MetadataColumn[] {
  return text.split(',').map((part) => {
    const [, name = part, type] = /^(.*):(text|number|boolean|json)$/.exec(part) ?? [];
    return { name, type: VALUE_TYPES.find((known) => known === type) };
  });
}

/** The columns that hold a value of the vector each, in the order of their numbers. */
export function valueColumns(pattern: string, columns: readonly string[]): readonly string[] {
  const [before = '', after = ''] = pattern.split('*');
  const found = columns.flatMap((name) => {
    const middle = name.slice(before.length, name.length - after.length);
    const isOne = `${before}${middle}${after}` === name && /^\d+$/.test(middle);
    return isOne ? [{ name, number: Number(middle) }] : [];
  });
  return found.toSorted((left, right) => left.number - right.number).map(({ name }) => name);
}

/** Whether a column is read at all. */
export function isMapped(mapping: Mapping, column: string): boolean {
  const { id, vector, content, contentType, metadata, metadataColumns, vectorColumns } = mapping;
  return (
    [id, content, contentType, metadata].includes(column) ||
    metadataColumns.some(({ name }) => name === column) ||
    (vectorColumns === undefined
      ? column === vector
      : valueColumns(vectorColumns, [column]).length > 0)
  );
}

/** Refuses a mapping to columns that the file has not. Those of the default names may be absent. */
export function checkColumns(path: string, mapping: Mapping, columns: readonly string[]): void {
  const { vector, vectorColumns, metadataColumns } = mapping;
  const names = (['id', 'content', 'contentType', 'metadata'] as const)
    .map((part) => mapping[part] !== DEFAULT_MAPPING[part] && mapping[part])
    .filter((name) => name !== false);
  const needed = [...names, ...metadataColumns.map(({ name }) => name)];
  if (vectorColumns === undefined) needed.push(vector);
  else if (valueColumns(vectorColumns, columns).length === 0) needed.push(vectorColumns);
  const missing = needed.find((name) => !columns.includes(name));
  if (missing === undefined) return;
  const shown = columns.slice(0, MOST_SHOWN).join(', ');
  const more = columns.length > MOST_SHOWN ? ` and ${columns.length - MOST_SHOWN} more` : '';
  throw new TransferError(
    `${path} has no column "${missing}"; it has ${shown}${more}${hintOf(missing, columns)}`,
  );
}

/** What was probably meant: another delimiter, or a type that is none. */
function hintOf(missing: string, columns: readonly string[]): string {
  if (missing.includes(':')) return ` (types behind a name are ${VALUE_TYPES.join(', ')})`;
  if (columns.some((name) => name.includes('\t'))) return ' (--delimiter tab may separate them)';
  return columns.some((name) => name.includes(';')) ? " (--delimiter ';' may separate them)" : '';
}

/** Columns that a message lists; a file may have one for each value. */
const MOST_SHOWN = 20;
