/** What gRPC puts before a message, in the same memory. */
const FRAME_BYTES = 5;

/** The bytes in memory that another thread can take over: a copy where others use it as well. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isItsOwn = buffer.byteLength - bytes.length <= FRAME_BYTES;
  return isItsOwn ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

/**
 * The memory of what a parser answers that changes hands instead of being copied: not memory that is
 * used for others, too. Of that which node shares out, a little more than it says, one Buffer never
 * has as much as half.
 */
export function memoryOf(answer: object): ArrayBuffer[] {
  return Object.values(answer).flatMap((field: unknown) => {
    if (!ArrayBuffer.isView(field)) return [];
    const { buffer, byteLength } = field;
    const isItsOwn = buffer.byteLength > Buffer.poolSize && byteLength > buffer.byteLength / 2;
    return isItsOwn ? [buffer as ArrayBuffer] : [];
  });
}
