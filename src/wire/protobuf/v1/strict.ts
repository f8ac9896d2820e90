import { EXPECTED_COLLECTION } from '../../../core/advice.js';
import { invalid, type VectordError } from '../../../core/errors.js';
import { quote } from '../quote.js';
import type { WireReader } from '../wire-reader.js';

/** Reads one field of a message, whose tag has been read; answers whether the message has it. */
export type ReadField = (tag: number) => boolean;

/** Reads the fields of the open message to its end; `where` says which one that is. */
export function readFields(reader: WireReader, where: string, readField: ReadField): void {
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (!readField(tag)) throw unknownField(tag, where);
  }
}

/** Reads the message that the field holds whose tag was read. */
export function readMessage(reader: WireReader, where: string, readField: ReadField): void {
  const outerEnd = reader.enter();
  readFields(reader, where, readField);
  reader.leave(outerEnd);
}

function unknownField(tag: number, where: string): VectordError {
  const found = `field ${tag >>> 3} with wire type ${tag & 7}`;
  return invalid(`${found} of ${where} is unknown, expected the fields of vectord.v1`);
}

const TRUE = 1n;

export function readBool(reader: WireReader): boolean {
  return reader.uint64() >= TRUE;
}

/** There is one collection, which may be named. */
export function readCollection(reader: WireReader): void {
  const name = reader.string();
  if (name === '' || name === 'default') return;
  throw invalid(`collection is ${quote(name)}, expected ${EXPECTED_COLLECTION}`);
}
