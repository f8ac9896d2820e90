/** Whether this machine has the least byte of a number first, as both protocols do. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** The little-endian bytes of floats; where the machine has them so, their own memory. */
export function bytesOf(floats: Float32Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = floats;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return IS_LITTLE_ENDIAN ? bytes : reversed(bytes);
}

/** The floats of little-endian bytes, in memory of their own; of an incomplete one nothing. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  const floats = new Float32Array(bytes.length >>> 2);
  const target = new Uint8Array(floats.buffer);
  const whole = bytes.subarray(0, target.length);
  target.set(IS_LITTLE_ENDIAN ? whole : reversed(whole));
  return floats;
}

/** The bytes of each float in the other order. */
function reversed(bytes: Uint8Array): Uint8Array {
  return bytes.map((_, at) => bytes[at ^ 3] ?? 0);
}
