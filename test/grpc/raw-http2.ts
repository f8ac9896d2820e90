import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;
const FRAME_HEADER_BYTES = 9;

/** What a client sends before anything else. */
export const BEGIN = Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0))]);

/** What came back on the stream, undecoded. */
export interface RawAnswer {
  readonly headers: Buffer;
  readonly data: Buffer;
}

/** A connection to such an address as 127.0.0.1:40124, on which nothing has been sent yet. */
export function connectTo(address: string): Socket {
  const [host, port] = address.split(':');
  return connect(Number(port), host);
}

/**
 * One unary call with header fields exactly as given, in HTTP/2 frames made by hand: the clients
 * of node refuse to send what this has to test.
 */
export async function rawCall(
  address: string,
  fields: readonly (readonly [string, string])[],
  message: Uint8Array,
): Promise<RawAnswer> {
  const socket = connectTo(address);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  socket.write(BEGIN);
  socket.write(frame(HEADERS, END_HEADERS, 1, Buffer.concat(fields.map(literal))));
  socket.write(frame(DATA, END_STREAM, 1, Buffer.concat([prefix, message])));
  try {
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

export function frame(type: number, flags: number, stream: number, content: Uint8Array): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(content.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, content]);
}

/** The whole frames at the beginning of these bytes. */
export function framesIn(bytes: Buffer): { type: number; flags: number; content: Buffer }[] {
  const frames = [];
  for (let at = 0; at + FRAME_HEADER_BYTES <= bytes.length;) {
    const begin = at + FRAME_HEADER_BYTES;
    const end = begin + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const [type = 0, flags = 0] = bytes.subarray(at + 3);
    frames.push({ type, flags, content: bytes.subarray(begin, end) });
    at = end;
  }
  return frames;
}

/** A header field as HPACK writes one that it neither indexes nor compresses. */
export function literal([name, value]: readonly [string, string]): Buffer {
  const bytes = [name, value].map((text) =>
    Buffer.concat([Buffer.of(text.length), Buffer.from(text)]),
  );
  return Buffer.concat([Buffer.of(0), ...bytes]);
}

async function readAnswer(socket: Socket): Promise<RawAnswer> {
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer]);
    const frames = framesIn(received);
    const hasEnded = frames.some(
      ({ type, flags }) => type === RST_STREAM || (type === HEADERS && (flags & END_STREAM) !== 0),
    );
    if (!hasEnded) continue;
    const [headers, data] = [HEADERS, DATA].map((wanted) =>
      frames.filter(({ type }) => type === wanted).map(({ content }) => content),
    );
    return { headers: Buffer.concat(headers ?? []), data: Buffer.concat(data ?? []) };
  }
  throw new Error('the connection ended without an answer');
}

/** The header fields of a call. */
export function fieldsOf(path: string): (readonly [string, string])[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'x'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
}

/** The headers of a call, as they go over the wire. */
export function headOf(path: string, ...more: (readonly [string, string])[]): Buffer {
  return Buffer.concat([...fieldsOf(path), ...more].map(literal));
}

/** The headers of a call for its client to put into its table, and the same from that table. */
export function tabledHeads(
  path: string,
  ...more: (readonly [string, string])[]
): [first: Buffer, again: Buffer] {
  const fields = [...fieldsOf(path), ...more];
  const first = fields.map((field) => {
    const bytes = literal(field);
    bytes[0] = 0x40;
    return bytes;
  });
  // The last entry is the 62nd, behind those that are always there.
  const again = Buffer.from(fields.map((_, index) => 0x80 + 62 + fields.length - 1 - index));
  return [Buffer.concat(first), again];
}

/** Calls from this stream on, each reset behind its head, with one code or another. */
export function resetCalls(
  path: string,
  first: number,
  count: number,
  ...more: (readonly [string, string])[]
): Buffer {
  const { NGHTTP2_NO_ERROR: NO_ERROR, NGHTTP2_CANCEL: CANCEL } = constants;
  const [head, again] = tabledHeads(path, ...more);
  const calls = Array.from({ length: count }, (_, index) => {
    const stream = first + 2 * index;
    const code = Buffer.of(0, 0, 0, index % 2 === 0 ? CANCEL : NO_ERROR);
    return [
      frame(HEADERS, END_HEADERS, stream, index === 0 ? head : again),
      frame(RST_STREAM, 0, stream, code),
    ];
  });
  return Buffer.concat(calls.flat());
}
