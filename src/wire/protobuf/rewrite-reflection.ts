import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { WireReader, WireType, tagOf } from './wire-reader.js';

/** The texts of a ServerReflectionRequest: host, file, symbol, type, and one without a meaning. */
const TEXTS: ReadonlySet<number> = new Set(
  [1, 3, 4, 6, 7].map((field) => tagOf(field, WireType.LengthDelimited)),
);
const EXTENSION = tagOf(5, WireType.LengthDelimited);
const CONTAINING_TYPE = tagOf(1, WireType.LengthDelimited);
const EXTENSION_NUMBER = tagOf(2, WireType.Varint);

/**
 * A ServerReflectionRequest written anew with the fields that it has. Its codec is that of the
 * reflection library, which believes every length: it reads the 4 GiB that a text of a small
 * message claims to have, one byte after the other, and all others wait.
 */
export function rewriteReflectionRequest(bytes: Uint8Array): Uint8Array {
  const reader = new WireReader(bytes);
  const writer = new BinaryWriter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (TEXTS.has(tag)) writer.uint32(tag).string(reader.string());
    else if (tag === EXTENSION) rewriteExtension(reader, writer);
    else reader.skipField(tag);
  }
  return writer.finish();
}

function rewriteExtension(reader: WireReader, writer: BinaryWriter): void {
  writer.uint32(EXTENSION).fork();
  const outerEnd = reader.enter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === CONTAINING_TYPE) writer.uint32(tag).string(reader.string());
    else if (tag === EXTENSION_NUMBER) writer.uint32(tag).int32(reader.int32());
    else reader.skipField(tag);
  }
  reader.leave(outerEnd);
  writer.join();
}
