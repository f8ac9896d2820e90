import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { crc32 } from 'node:zlib';
import { messageOf } from '../../core/start-error.js';
import { StreamMessage } from '../../gen/vectord/cluster/v1/cluster.js';

/** Who waits for the outcome of a message. */
export interface Sender {
  readonly gateway: string;
  readonly request: number;
}

/** What a message of a stream holds: a change of the engine, a part of one, or where its parts are. */
export type Content = Pick<StreamMessage, 'change' | 'part' | 'parts'>;

/** What the bytes of a message are. */
export type Reading =
  | { readonly kind: 'message'; readonly message: StreamMessage; readonly isFramed: boolean }
  /** Of no node, or damaged. */
  | { readonly kind: 'stray'; readonly reason: string }
  /** Whole, but of a version that this code does not know. */
  | { readonly kind: 'unknown'; readonly reason: string };

/*
 * The frame that a message begins with, the same in all versions: these bytes, a version, a kind, and the
 * CRC-32 of all bytes before it and behind it, little end first. What is behind it is up to version and
 * kind. It looks like field 15 of a StreamMessage, which versions that wrote no frames skip.
 */
const FRAME = Buffer.from('\x7a\x0avecd', 'latin1');
const CRC_AT = FRAME.length + 2;
const FRAME_BYTES = CRC_AT + 4;
const VERSION = 1;
/** A StreamMessage, of which the frame is the first field. */
const STREAM_MESSAGE = 1;

const CHANGE_START_BYTES = 8;
/** Of version 1. */
const LAST_CHANGE_KIND = 6;

const GATEWAY_ID = /^[0-9a-f]{16}$/;

/** Whether a gateway may have this id. */
export const isGateway = (id: string): boolean => GATEWAY_ID.test(id);

/**
 * A message is void, and changes nothing, if the stream stored it so long after it was sent, or before.
 * So a copy that comes after the stream has forgotten its id, which takes two minutes, changes nothing.
 * All replicas decide it by the times in the message and in the stream.
 */
const MOST_DELAY_MS = 30_000;

/** What a message takes besides its content, more than enough. */
export const ENVELOPE_BYTES = 8 * 1024;

export function encodeMessage({ gateway, request }: Sender, content: Content): Uint8Array {
  const sentAtMs = BigInt(Date.now());
  return inFrame({ ...NO_CONTENT, ...content, gateway, request, sentAtMs });
}

/** The bytes of a message, with a frame. */
export function inFrame(message: StreamMessage, version = VERSION): Uint8Array {
  const writer = new BinaryWriter();
  writer.raw(FRAME).raw(Uint8Array.of(version, STREAM_MESSAGE, 0, 0, 0, 0));
  const bytes = StreamMessage.encode(message, writer).finish();
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(CRC_AT, checksumOf(bytes), true);
  return bytes;
}

export function readMessage(bytes: Uint8Array): Reading {
  if (Buffer.compare(bytes.subarray(0, FRAME.length), FRAME) !== 0) {
    return readUnframed(bytes);
  }
  const isWhole =
    bytes.length >= FRAME_BYTES &&
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT, true) === checksumOf(bytes);
  if (!isWhole) return { kind: 'stray', reason: 'its checksum does not match' };
  const [version, kind] = bytes.subarray(FRAME.length);
  if (version !== VERSION || kind !== STREAM_MESSAGE) {
    const reason =
      `has version ${version} and kind ${kind}, but this vectord reads version ${VERSION} and kind ` +
      `${STREAM_MESSAGE}: use the vectord that wrote it, or a newer one`;
    return { kind: 'unknown', reason };
  }
  try {
    return { kind: 'message', message: StreamMessage.decode(bytes), isFramed: true };
  } catch (error) {
    return { kind: 'unknown', reason: `cannot be read: ${messageOf(error)}` };
  }
}

/** Messages had no frame once: they held a part, a list of parts, or a change with a checksum of its own. */
function readUnframed(bytes: Uint8Array): Reading {
  let message: StreamMessage;
  try {
    message = StreamMessage.decode(bytes);
  } catch (error) {
    return { kind: 'stray', reason: messageOf(error) };
  }
  // One of no bytes takes the place of one that came too late.
  if (bytes.length > 0) {
    if (!isGateway(message.gateway)) return { kind: 'stray', reason: 'it names no gateway' };
    const { change, part, parts } = message;
    const isWhole = part !== undefined || parts !== undefined || (change && isWholeChange(change));
    if (!isWhole) return { kind: 'stray', reason: 'its change is not whole' };
  }
  return { kind: 'message', message, isFramed: false };
}

/**
 * Whether a change of a message without a frame is as the engine wrote it: version 1, a kind, two unused
 * bytes, and the CRC-32 of the rest. Nodes that write other versions write frames.
 */
export function isWholeChange(change: Uint8Array): boolean {
  if (change.length < CHANGE_START_BYTES) return false;
  const start = new DataView(change.buffer, change.byteOffset);
  const kind = start.getUint8(1);
  return (
    start.getUint8(0) === 1 &&
    kind >= 1 &&
    kind <= LAST_CHANGE_KIND &&
    start.getUint16(2) === 0 &&
    start.getUint32(4, true) === crc32(change.subarray(CHANGE_START_BYTES))
  );
}

function checksumOf(bytes: Uint8Array): number {
  return crc32(bytes.subarray(FRAME_BYTES), crc32(bytes.subarray(0, CRC_AT)));
}

/** The id by which the stream knows a message that is sent again. */
export function messageId({ gateway, request }: Sender, part?: number): string {
  return part === undefined ? `${gateway}-${request}` : `${gateway}-${request}-${part}`;
}

/** Whether all that a node sends is void, as its clock differs so much from that of the stream. */
export function isClockOff(offMs: number): boolean {
  return Math.abs(offMs) > MOST_DELAY_MS;
}

export function isVoid({ sentAtMs }: StreamMessage, storedAtMs: number): boolean {
  return isClockOff(storedAtMs - Number(sentAtMs));
}

const NO_CONTENT: Content = { change: undefined, part: undefined, parts: undefined };
