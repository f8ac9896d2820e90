import fc from 'fast-check';

/*
 * JSON as hardly anyone writes it: names that come twice or in escapes, odd spaces and numbers,
 * things to be ignored that are deep, and now and then a mistake. What a text means is JSON.parse's
 * to say.
 */

/** Mostly none, mostly allowed. */
const space = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('', '', '', ' ', '\t', '\r\n  ') },
  { weight: 1, arbitrary: fc.constantFrom('\u00a0', '\ufeff', '\f', '\u2028', '/* */', '\0') },
);

const ODD_NUMBERS = [
  '-0 0.0e-999 1e-400 1E+05 1e39 -1e39 1e999 -1e999 5e-324 1e-45 9007199254740993 0e99999999999',
  '1e00000000001 1e99999999999999999999 1e-99999999999999999999',
  // Just below what rounds to an infinity, and that itself.
  '3.4028235677973362e38 3.4028235677973366e38 -3.4028235677973366e38',
  // Halfway between two floats but for a digit that a double does not hold.
  '1.00000005960464477539062500001',
  `0.${'0'.repeat(400)}1 1${'0'.repeat(400)} ${'9'.repeat(300)}e-300`,
  // None of these is JSON.
  '01 - +1 .5 1. 1e 1e+ 0x10 NaN Infinity 1_0 --1 1,',
].flatMap((texts) => texts.split(' '));

/** A number of a vector. */
export const numberText = fc.oneof(
  { weight: 20, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true }).map(String) },
  { weight: 10, arbitrary: fc.double({ min: -1e38, max: 1e38, noNaN: true }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_NUMBERS) },
);

/** A text in quotes, each of its units as it is or in one of the ways to escape it. */
export function stringText(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(value, fc.array(fc.nat(3), { minLength: 1, maxLength: 9 }))
    .map(([text, ways]) => {
      const units = Array.from({ length: text.length }, (_, index) =>
        unitText(text.charAt(index), ways[index % ways.length] ?? 0),
      );
      return `"${units.join('')}"`;
    });
}

function unitText(unit: string, way: number): string {
  const code = unit.charCodeAt(0).toString(16).padStart(4, '0');
  if (way === 1) return `\\u${code}`;
  if (way === 2) return `\\u${code.toUpperCase()}`;
  // Half of a pair has to stand beside its other half.
  return /[\uD800-\uDFFF]/.test(unit) ? `\\u${code}` : JSON.stringify(unit).slice(1, -1);
}

/** The name of a member. */
export function nameText(name: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(JSON.stringify(name)) },
    { weight: 1, arbitrary: stringText(fc.constant(name)) },
  );
}

const DEPTHS = [10, 1_000, 20_000];

/** What a reader has to get past. */
const ignoredValue = fc.oneof(
  { weight: 10, arbitrary: fc.json() },
  { weight: 3, arbitrary: stringText(fc.string({ unit: 'binary' })) },
  { weight: 1, arbitrary: fc.constantFrom(...DEPTHS).map((depth) => nested(depth, '[', ']')) },
  { weight: 1, arbitrary: fc.constantFrom(...DEPTHS).map((depth) => nested(depth, '{"":', '}')) },
);

function nested(depth: number, open: string, close: string): string {
  return `${open.repeat(depth)}0${close.repeat(depth)}`;
}

const ignoredName = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'vector', 'payload', 'queries', ''),
  fc.string({ unit: 'binary', maxLength: 5 }),
);

/** An object with these members in any order, and sometimes others or the same again. */
export function objectText(
  members: Readonly<Record<string, fc.Arbitrary<string>>>,
): fc.Arbitrary<string> {
  const known = Object.entries(members).map(([name, value]) => fc.tuple(nameText(name), value));
  const ignored = fc.tuple(ignoredName.chain(nameText), ignoredValue);
  const others = fc.oneof(
    { weight: 12, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(ignored, { maxLength: 2 }) },
    { weight: 2, arbitrary: fc.array(fc.oneof(...known), { maxLength: 2 }) },
  );
  return fc
    .tuple(fc.tuple(...known), others)
    .chain(([first, second]) =>
      fc.shuffledSubarray([...first, ...second], { minLength: first.length + second.length }),
    )
    .chain((all) =>
      joined(
        '{',
        all.map(([name, value]) => [name, ':', value]),
        '}',
      ),
    );
}

/** An array of these items. */
export function arrayText(items: fc.Arbitrary<string[]>): fc.Arbitrary<string> {
  return items.chain((all) =>
    joined(
      '[',
      all.map((item) => [item]),
      ']',
    ),
  );
}

/** Groups of tokens with commas between them, and spaces wherever they may be. */
function joined(
  open: string,
  groups: readonly (readonly string[])[],
  close: string,
): fc.Arbitrary<string> {
  const inner = groups.flatMap((group, index) => (index === 0 ? group : [',', ...group]));
  const tokens = [open, ...inner, close];
  return fc
    .array(space, { minLength: 1, maxLength: 5 })
    .map((spaces) =>
      tokens.map((token, index) => token + (spaces[index % spaces.length] ?? '')).join(''),
    );
}

const ODD_BYTES = String.raw`" \ { } [ ] , : - 0 e ' // \ud800 \u12 null 😀`
  .split(' ')
  .concat('\0', '\ufeff', '\n', ' ')
  .map((text) => Buffer.from(text));
/** Not UTF-8: a lone byte, half of a character, a surrogate, an overlong form. */
const NOT_UTF8 = ['ff', 'c3', 'eda080', 'c0af'].map((hex) => Buffer.from(hex, 'hex'));

/** A part of the whole: doubles would be drawn from their bits, and nearly all be nearly 0. */
const place = fc.nat(1_000).map((number) => number / 1_000);

/** Bytes that come too many at a place, often within a text, and in the place of others. */
const mistake = fc
  .tuple(
    place,
    fc.boolean(),
    fc.oneof(fc.constant(0), fc.nat(3)),
    fc.oneof(fc.constantFrom(...ODD_BYTES), fc.constantFrom(...NOT_UTF8)),
  )
  .map(([at, isAfterQuote, removed, inserted]) => (bytes: Buffer) => {
    const from = Math.floor(bytes.length * at);
    const start = isAfterQuote ? bytes.indexOf('"', from) + 1 : from;
    return Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(start + removed)]);
  });

/** The bytes of a text, of which every other has mistakes. */
export function bytesOf(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(text, fc.oneof(fc.constant([]), fc.array(mistake, { maxLength: 2 })))
    .map(([good, mistakes]) =>
      mistakes.reduce((bytes, mistaken) => mistaken(bytes), Buffer.from(good)),
    );
}
