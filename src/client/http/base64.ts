const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = '='.charCodeAt(0);

const CODES = Uint8Array.from(DIGITS, (digit) => digit.charCodeAt(0));

/** The value of each character; 0 for what is no digit. */
const VALUES = new Uint8Array(256);
for (const [value, code] of CODES.entries()) VALUES[code] = value;

const ascii = new TextDecoder();

/*
 * Written out, since no way to do it is there in all browsers and all versions of Node.js alike: a
 * Buffer is not in browsers, `btoa` takes strings, and `toBase64` came late.
 */

/** Base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  const { length } = bytes;
  const codes = new Uint8Array(Math.ceil(length / 3) * 4).fill(PADDING);
  let end = 0;
  for (let at = 0; at < length; at += 3) {
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const left = length - at;
    codes[end] = CODES[bits >>> 18] ?? 0;
    codes[end + 1] = CODES[(bits >>> 12) & 63] ?? 0;
    if (left > 1) codes[end + 2] = CODES[(bits >>> 6) & 63] ?? 0;
    if (left > 2) codes[end + 3] = CODES[bits & 63] ?? 0;
    end += 4;
  }
  return ascii.decode(codes);
}

/** The bytes of well-formed base64, with padding or without. */
export function fromBase64(text: string): Uint8Array {
  const digits = text.replace(/=+$/, '').length;
  const bytes = new Uint8Array(Math.floor((digits * 3) / 4));
  let end = 0;
  for (let at = 0; at < digits; at += 4) {
    const bits =
      ((VALUES[text.charCodeAt(at)] ?? 0) << 18) |
      ((VALUES[text.charCodeAt(at + 1)] ?? 0) << 12) |
      ((VALUES[text.charCodeAt(at + 2)] ?? 0) << 6) |
      (VALUES[text.charCodeAt(at + 3)] ?? 0);
    bytes[end] = bits >>> 16;
    bytes[end + 1] = bits >>> 8;
    bytes[end + 2] = bits;
    end += 3;
  }
  return bytes;
}
