/** A row, its metadata and a list of these: deeper is nothing that a point is made of. */
const DEPTH = 3;

/** The greatest whole number up to which a double tells each from the next. */
const GREATEST_WHOLE = String(2 ** 53);

/** An escape, the beginning or end of a text, or a number. */
const TOKENS = /\\.|"|-?\d[\d.eE+-]*/g;

/**
 * What JSON.parse reads, but for whole numbers beyond 2^53 that are written in digits alone: their
 * last digits would be lost, and they come as bigints.
 */
export function exactJson(text: string): unknown {
  const read: unknown = JSON.parse(text);
  if (!mayBeRounded(read, DEPTH)) return read;
  let isInText = false;
  const quoted = text.replaceAll(TOKENS, (token) => {
    if (token === '"') isInText = !isInText;
    return !isInText && isBeyondDouble(token) ? `"${token}"` : token;
  });
  return withBigints(read, JSON.parse(quoted), DEPTH);
}

/** Whether a text is a whole number in digits alone that a double may not hold. */
export function isBeyondDouble(text: string): boolean {
  const digits = /^-?0*(\d{16,})$/.exec(text)?.[1];
  if (digits === undefined) return false;
  return digits.length > GREATEST_WHOLE.length || digits > GREATEST_WHOLE;
}

function mayBeRounded(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((inner) => mayBeRounded(inner, depth - 1));
}

/** A value with bigints in the place of the numbers that are texts in the other one. */
function withBigints(value: unknown, quoted: unknown, depth: number): unknown {
  if (Number.isInteger(value)) return typeof quoted === 'string' ? BigInt(quoted) : value;
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  const others = quoted as Readonly<Record<string, unknown>>;
  const members = Object.entries(value).map(
    ([key, inner]) => [key, withBigints(inner, others[key], depth - 1)] as const,
  );
  return Array.isArray(value) ? members.map(([, inner]) => inner) : Object.fromEntries(members);
}
