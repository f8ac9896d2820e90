import { LargeIds } from '../wire/protobuf/large-ids.js';
import type { PointsMessage } from '../wire/protobuf/v1/points-message.js';

/** The request side of a codec, in the shape of ts-proto. */
export function reading<Message>(read: (bytes: Uint8Array) => Message) {
  return {
    encode: unused,
    decode(bytes: Uint8Array): Message | Error {
      try {
        return read(bytes);
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    },
  };
}

/** The response side of a codec, in the shape of ts-proto. */
export function writing<Message>(encode: (message: Message) => { finish(): Uint8Array }) {
  return { encode: (message: Message) => encode(message), decode: unused };
}

/** The same where the transport sends very long answers in chunks. */
export function writingLarge<Message>(encode: (message: Message) => { finish(): Uint8Array }) {
  return writing((message: Message | LargeIds) =>
    message instanceof LargeIds ? message : encode(message),
  );
}

/**
 * The same of messages of points, which the transport sends in chunks where they are long, and without
 * a copy where they are short.
 */
export function writingPoints<Message>(write: (message: Message) => PointsMessage) {
  return writing((message: Message) => {
    const points = write(message);
    if (points.isLong) return points;
    const finishBehind = (bytes: number, take: (bytes: number) => Buffer): Buffer =>
      points.finish(bytes, take);
    return { finish: () => points.finish(), finishBehind };
  });
}

/** A server reads requests and writes responses; the other direction is the client's. */
function unused(): never {
  throw new Error('a server does not encode requests or decode responses');
}

/** The request side of what is read later. */
export const AS_IT_CAME = { encode: unused, decode: (bytes: Uint8Array): Uint8Array => bytes };
