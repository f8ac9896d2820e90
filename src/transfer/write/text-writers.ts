import { jsonLine, vectorText, type FullPoint, type VectorText } from './point-columns.js';
import type { PointWriter } from './writer.js';

/** Bytes of text that are handed on together. */
const CHUNK_CHARACTERS = 256 * 1024;

export function jsonLinesWriter(style: VectorText): PointWriter {
  const lineOf = (point: FullPoint): string => {
    const text = vectorText(point.vector, style);
    return jsonLine(point, style === 'array' ? text : `"${text}"`);
  };
  return { hasTexts: false, encode: (points) => textOf(points, '', lineOf) };
}

export function csvWriter(style: VectorText): PointWriter {
  const lineOf = ({ id, vector, content, contentType, metadata }: FullPoint): string =>
    `${[id, vectorText(vector, style), content, contentType, metadata ?? ''].map(cell).join()}\r\n`;
  const header = 'id,vector,content,content_type,metadata\r\n';
  return { hasTexts: false, encode: (points) => textOf(points, header, lineOf) };
}

/** As RFC 4180 has it. */
function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function* textOf(
  points: AsyncIterable<FullPoint>,
  header: string,
  lineOf: (point: FullPoint) => string,
): AsyncGenerator<Uint8Array> {
  let text = header;
  for await (const point of points) {
    text += lineOf(point);
    if (text.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}
