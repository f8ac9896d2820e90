/**
 * What JSON.stringify writes, but for numbers: the service takes whole ones beyond 2^53 only with an
 * exponent, which tells that they are doubles, and -0 keeps its sign.
 */
export function jsonText(value: unknown): string {
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const texts = members.map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`);
  return `{${texts.join(',')}}`;
}

export function numberText(value: number): string {
  if (Math.abs(value) > 2 ** 53) return value.toExponential();
  return Object.is(value, -0) ? '-0' : String(value);
}
