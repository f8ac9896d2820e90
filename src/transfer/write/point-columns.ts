import { bytesOf } from '../../client/float-bytes.js';
import { jsonText } from '../../client/json-text.js';
import type { Point } from '../../client/model.js';

/** How a vector is written as text: as an array of JSON, or as base64 of its 32-bit floats. */
export type VectorText = 'array' | 'base64';

/** A point with all its parts, as `scroll` gives it. */
export interface FullPoint {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string;
  readonly contentType: string;
  /** JSON; undefined for a point that has none. */
  readonly metadata: string | undefined;
}

export function fullOf({ id, vector, content, contentType, metadata }: Point): FullPoint {
  return {
    id,
    vector: vector ?? new Float32Array(),
    content: content ?? '',
    contentType: contentType ?? 'Text',
    metadata: metadata === null || metadata === undefined ? undefined : jsonText(metadata),
  };
}

/** In an array each number is that of the float exactly, which takes up to 17 digits. */
export function vectorText(vector: Float32Array, style: VectorText): string {
  if (style === 'array') return jsonText(Array.from(vector));
  return Buffer.from(bytesOf(vector)).toString('base64');
}

/** A line of JSON with what a point has, the vector left out if there is no text of it. */
export function jsonLine(point: FullPoint, vector?: string): string {
  const { id, content, contentType, metadata } = point;
  const vectorPart = vector === undefined ? '' : `"vector":${vector},`;
  return (
    `{"id":"${id}",${vectorPart}"content":${JSON.stringify(content)},` +
    `"content_type":"${contentType}","metadata":${metadata ?? 'null'}}\n`
  );
}
