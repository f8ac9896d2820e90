import { POINT_ID_BYTES, POINT_ID_LENGTH, writePointId, type PointIds } from '../point-id.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** An object with one field, a list of ids. */
export function writeIds(field: string, ids: PointIds): Buffer {
  return writeObject(field, listLength(ids), (target, offset) => writeList(target, offset, ids));
}

/** An object with one field, a list of lists of ids. */
export function writeIdLists(field: string, lists: readonly PointIds[]): Buffer {
  const commas = Math.max(0, lists.length - 1);
  const length = lists.reduce((sum, ids) => sum + listLength(ids), 2 + commas);
  return writeObject(field, length, (target, offset) => {
    let end = offset;
    target[end++] = OPEN;
    lists.forEach((ids, index) => {
      if (index > 0) target[end++] = COMMA;
      end = writeList(target, end, ids);
    });
    target[end] = CLOSE;
  });
}

function writeObject(
  field: string,
  valueLength: number,
  writeValue: (target: Buffer, offset: number) => void,
): Buffer {
  const start = `{"${field}":`;
  const body = Buffer.allocUnsafe(start.length + valueLength + 1);
  body.write(start, 'latin1');
  writeValue(body, start.length);
  body.write('}', start.length + valueLength, 'latin1');
  return body;
}

/** Two brackets, and for each id its text, two quotes and, but for one, a comma. */
function listLength(ids: PointIds): number {
  const count = ids.length / POINT_ID_BYTES;
  return 2 + count * (POINT_ID_LENGTH + 2) + Math.max(0, count - 1);
}

function writeList(target: Buffer, offset: number, ids: PointIds): number {
  let end = offset;
  target[end++] = OPEN;
  for (let at = 0; at < ids.length; at += POINT_ID_BYTES) {
    if (at > 0) target[end++] = COMMA;
    target[end++] = QUOTE;
    end = writePointId(target, end, ids, at);
    target[end++] = QUOTE;
  }
  target[end++] = CLOSE;
  return end;
}
