import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../docs/openapi.yaml', import.meta.url);

/** How long an array of numbers may be, as the document has it for every possible dimension. */
const ANY_ITEMS = /(\bminItems: )1(\n +maxItems: )65536\b/;

/** How long the base64 of a vector may be, likewise. */
const ANY_CHARACTERS = /(\bminLength: )6(\n +maxLength: )349528\b/;

/** Which characters that base64 may have, likewise. */
const ANY_PATTERN = "pattern: '^[A-Za-z0-9+/]*={0,2}$'";

/** What each character of base64 stands for. */
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The description of the HTTP interface, with the one length that vectors have here. */
export function openapiDocument(dimension: number): string {
  const bytes = dimension * Float32Array.BYTES_PER_ELEMENT;
  const withoutPadding = Math.ceil((bytes * 8) / 6);
  const withPadding = Math.ceil(bytes / 3) * 4;
  const document = readFileSync(DOCUMENT, 'utf8');
  const ofItems = bounded(document, ANY_ITEMS, dimension, dimension);
  const ofCharacters = bounded(ofItems, ANY_CHARACTERS, withoutPadding, withPadding);
  if (!document.includes(ANY_PATTERN)) throw new Error(`docs/openapi.yaml has no ${ANY_PATTERN}`);
  return ofCharacters.replace(ANY_PATTERN, () => `pattern: '${base64Pattern(dimension)}'`);
}

/** What is the base64 of so many finite 32-bit floats, in little-endian order, and nothing else. */
function base64Pattern(dimension: number): string {
  // Three floats take 16 characters; of what is left, the last character has bits to spare.
  const [anyone, rest] = ['[A-Za-z0-9+/]', dimension % 3];
  const ends = [
    '',
    `${anyone}{5}${charactersWithout(0b1111)}={0,2}`,
    `${anyone}{10}${charactersWithout(0b11)}=?`,
  ];
  const threes = `(${finite(3)}${anyone}{16}){${Math.floor(dimension / 3)}}`;
  return `^${threes}${finite(rest)}${ends[rest]}$`;
}

/** Looks ahead: none of so many floats is an infinity or NaN, as all bits of its exponent are set. */
function finite(floats: number): string {
  const nonFinite = Array.from({ length: floats }, (_, float) => {
    const exponent = [16, 25, 26, 27, 28, 29, 30, 31].map((bit) => float * 32 + bit);
    const characters = Array.from({ length: Math.ceil((float * 32 + 32) / 6) }, (__, at) => {
      const inside = exponent.filter((bit) => Math.floor(bit / 6) === at);
      const mask = inside.reduce((sum, bit) => sum | (1 << (5 - (bit % 6))), 0);
      return mask === 0 ? '.' : characterClass((value) => (value & mask) === mask);
    });
    return `(?!${characters.join('')})`;
  });
  return nonFinite.join('');
}

function charactersWithout(bits: number): string {
  return characterClass((value) => (value & bits) === 0);
}

function characterClass(holds: (value: number) => boolean): string {
  return `[${[...BASE64].filter((_, value) => holds(value)).join('')}]`;
}

function bounded(document: string, bounds: RegExp, least: number, most: number): string {
  if (!bounds.test(document)) throw new Error(`docs/openapi.yaml has no bounds such as ${bounds}`);
  return document.replace(bounds, `$1${least}$2${most}`);
}
