import { idFor } from '../client/id-for.js';
import { metadataText } from '../client/metadata.js';
import type { ContentType, Info, Metadata, NewPoint } from '../client/model.js';
import { InvalidArgumentError } from '../client/errors.js';
import { parsePointId } from '../core/point-id.js';
import type { Mapping } from './mapping.js';
import type { Columns, Row } from './row.js';
import { LengthFault, RowFault } from './transfer-error.js';
import { fieldOf, jsonOf, plainOf, textOf, vectorIn } from './values.js';

const NIL = '00000000-0000-0000-0000-000000000000';

/** Ids that were whole numbers before, or were missing. */
const OF_FLOATS = /^(?:[+-]?nan|-?\d+\.0+)$/i;

/** What the service takes as the metadata of a point, in bytes of JSON without spaces. */
const MAX_METADATA_BYTES = 65_536;

/** What a point takes in a request beside its vector, its content and its metadata, at most. */
const POINT_OVERHEAD_BYTES = 256;

/** What tells the points of a source, and what bounds them. */
export interface PointRules {
  readonly mapping: Mapping;
  /** What ids of rows without one are made of, with their numbers. */
  readonly sourceName: string;
  readonly info: Pick<Info, 'dimension' | 'limits'>;
}

/**
 * The point that a row stands for. Throws a RowFault for what the service would refuse: in a batch,
 * one such point would keep all others out.
 */
export function pointOf({ number, columns, fault }: Row, rules: PointRules): NewPoint {
  if (fault !== undefined) throw new RowFault(fault);
  const { mapping, sourceName, info } = rules;
  const vector = storableVector(columns, mapping, info.dimension);
  const content = textOf(columns[mapping.content], 'the content');
  const contentType = contentTypeOf(columns[mapping.contentType]);
  const metadata = metadataOf(columns, mapping);
  checkSizes(vector, content, metadata, info);
  const id = idOf(columns[mapping.id], `${sourceName}#${number}`);
  return { id, vector, content, contentType, metadata };
}

/** The vector of a row. Throws a RowFault for one that the service would refuse. */
export function storableVector(
  columns: Columns,
  mapping: Mapping,
  dimension: number,
): Float32Array {
  const vector = vectorIn(columns, mapping);
  if (vector.length !== dimension) throw new LengthFault(vector.length, dimension);
  const at = vector.findIndex((value) => !Number.isFinite(value));
  if (at === -1) return vector;
  throw new RowFault(`vector[${at}] is not finite in single precision`);
}

/** A UUID as it is; of any other text the one that `idFor` makes. */
function idOf(value: unknown, fallback: string): string {
  const text = textOf(value, 'the id');
  if (text !== undefined && OF_FLOATS.test(text)) {
    throw new RowFault(
      `the id is ${text}, a float: pandas makes floats of whole numbers where some are missing; ` +
        'write ids as texts, or as whole numbers (dtype "Int64")',
    );
  }
  if (text === undefined || parsePointId(text) === undefined) return idFor(text ?? fallback);
  if (text !== NIL) return text.toLowerCase();
  throw new RowFault('the id is the nil UUID, which no point can have');
}

function contentTypeOf(value: unknown): ContentType | undefined {
  const text = textOf(value, 'the content type');
  switch (text?.toLowerCase()) {
    case undefined:
    case 'text':
      return 'Text';
    case 'image':
      return 'Image';
    default:
      throw new RowFault('the content type is neither Text nor Image');
  }
}

function metadataOf(columns: Columns, mapping: Mapping): Metadata | undefined {
  const whole = membersOf(columns[mapping.metadata]);
  if (whole === undefined && mapping.metadataColumns.length === 0) return undefined;
  const fields = mapping.metadataColumns.flatMap((column) => {
    const value = fieldOf(column, columns[column.name], mapping.nan);
    return value === undefined ? [] : [[column.name, value] as const];
  });
  return Object.fromEntries([...(whole ?? []), ...fields]) as Metadata;
}

/** The members of an object of JSON, or of its text; undefined for an empty cell. */
function membersOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const object = typeof value === 'string' ? jsonOf(value, 'the metadata') : value;
  if (typeof object !== 'object' || object === null || Array.isArray(object)) {
    throw new RowFault('the metadata is no object of JSON');
  }
  return Object.entries(object).map(([key, member]) => [key, plainOf(`metadata.${key}`, member)]);
}

function checkSizes(
  vector: Float32Array,
  content: string | undefined,
  metadata: Metadata | undefined,
  { limits }: PointRules['info'],
): void {
  const contentBytes = Buffer.byteLength(content ?? '');
  if (contentBytes > limits.maxContentBytes) {
    throw new RowFault(
      `the content has ${contentBytes} bytes, expected at most ${limits.maxContentBytes}`,
    );
  }
  const metadataBytes = metadata === undefined ? 0 : metadataBytesOf(metadata);
  if (metadataBytes > MAX_METADATA_BYTES) {
    throw new RowFault(
      `the metadata has ${metadataBytes} bytes, expected at most ${MAX_METADATA_BYTES}`,
    );
  }
  const bytes = vector.byteLength + contentBytes + metadataBytes + POINT_OVERHEAD_BYTES;
  if (bytes > limits.maxRequestBytes) {
    throw new RowFault(
      `the point takes ${bytes} bytes, expected at most ${limits.maxRequestBytes}`,
    );
  }
}

/** The bytes of metadata that the service takes. */
function metadataBytesOf(metadata: Metadata): number {
  for (const [key, value] of Object.entries(metadata)) {
    if (key.startsWith('$')) throw new RowFault('a key of the metadata begins with "$"');
    if (!key.isWellFormed()) throw new RowFault('a key of the metadata is not well-formed Unicode');
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof item !== 'string' || item.isWellFormed()) continue;
      throw new RowFault('a text in the metadata is not well-formed Unicode');
    }
    if (Array.isArray(value)) checkList(key, value as unknown[]);
  }
  try {
    return Buffer.byteLength(metadataText('metadata', metadata));
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw new RowFault(error.message);
    throw error;
  }
}

function checkList(key: string, items: readonly unknown[]): void {
  const missing = items.findIndex((item) => item === null || item === undefined);
  if (missing !== -1) {
    throw new RowFault(`metadata.${key}[${missing}] is null, expected a value: leave it out`);
  }
  if (new Set(items.map((item) => typeof item)).size > 1) {
    throw new RowFault(`metadata.${key} is a list of several kinds of values, expected one kind`);
  }
}
