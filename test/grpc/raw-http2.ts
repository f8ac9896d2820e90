import { connect, type Socket } from 'node:net';

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;
const FRAME_HEADER_BYTES = 9;

/** What came back on the stream, undecoded. */
export interface RawAnswer {
  readonly headers: Buffer;
  readonly data: Buffer;
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
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  socket.write(PREFACE);
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
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

/** A header field as HPACK writes one that it neither indexes nor compresses. */
export function literal([name, value]: readonly [string, string]): Buffer {
  const bytes = [name, value].map((text) =>
    Buffer.concat([Buffer.of(text.length), Buffer.from(text)]),
  );
  return Buffer.concat([Buffer.of(0), ...bytes]);
}

async function readAnswer(socket: Socket): Promise<RawAnswer> {
  const answer: Record<number, Buffer[]> = { [HEADERS]: [], [DATA]: [] };
  let rest = Buffer.alloc(0);
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    while (rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      const [type = 0, flags = 0] = rest.subarray(3, 5);
      answer[type]?.push(rest.subarray(FRAME_HEADER_BYTES, end));
      const isLast = type === HEADERS && (flags & END_STREAM) !== 0;
      rest = rest.subarray(end);
      if (isLast || type === RST_STREAM) {
        const { [HEADERS]: headers = [], [DATA]: data = [] } = answer;
        return { headers: Buffer.concat(headers), data: Buffer.concat(data) };
      }
    }
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
