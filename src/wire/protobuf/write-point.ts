import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Payload, PointID } from '../../gen/vectordb/vectordb.js';
import type { Point } from '../../core/model.js';
import { WireType, tagOf } from './wire-reader.js';

const ID = tagOf(1, WireType.LengthDelimited);
const PAYLOAD = tagOf(2, WireType.LengthDelimited);
const VECTOR = tagOf(3, WireType.LengthDelimited);
const PACKED_VALUES = tagOf(1, WireType.LengthDelimited);

/** A Point message; its vector goes out as the one run of bytes that it is in memory. */
export function writePoint({ id, payload, vector }: Point): BinaryWriter {
  const { buffer, byteOffset, byteLength } = vector;
  const writer = new BinaryWriter();
  PointID.encode({ id: { value: id } }, writer.uint32(ID).fork()).join();
  Payload.encode(payload, writer.uint32(PAYLOAD).fork()).join();
  writer.uint32(VECTOR).fork();
  writer
    .uint32(PACKED_VALUES)
    .bytes(new Uint8Array(buffer, byteOffset, byteLength))
    .join();
  return writer;
}
