import fc from 'fast-check';
import type { Filter, Metadata } from '../../src/client/model.js';
import { arrayText, numberText, objectText, stringText } from './json-texts.js';

/*
 * Filters of all operators on values of all types, and metadata that some of them pass.
 */

/** Keys of metadata. No point has the last. */
const KEYS = ['a', 'b', 'größe', '', '__proto__', 'never'];

/** Among them two whose order by code points is not that of their UTF-16. */
const TEXTS = ['', 'a', 'b', 'B', 'ab', '\u{ffff}', '\u{10000}', '"\\\n\u0000', '1', 'true'];

const NUMBERS = [0, -0, 1, -1, 0.1, 1.5, 2 ** 53, 2 ** 53 + 2, 1e21, -1e300, 5e-324];

const text = fc.constantFrom(...TEXTS);
const number = fc.constantFrom(...NUMBERS);
const value = fc.oneof(text, number, fc.boolean());

/** An object of some of these members; of those with one name the last counts. */
function objectOf<Value>(
  entry: fc.Arbitrary<[string, Value]>,
  maxLength: number,
): fc.Arbitrary<Record<string, Value>> {
  return fc.array(entry, { minLength: 1, maxLength }).map(Object.fromEntries<Value>);
}

function few<Item>(item: fc.Arbitrary<Item>, minLength = 0): fc.Arbitrary<Item[]> {
  return fc.array(item, { minLength, maxLength: 3 });
}

export const metadata: fc.Arbitrary<Metadata | null> = fc.option(
  objectOf(
    fc.tuple(
      fc.constantFrom(...KEYS.slice(0, -1)),
      fc.oneof(value, fc.constant(null), few(text), few(number), few(fc.boolean())),
    ),
    8,
  ),
);

type Member = [string, unknown];

function member(name: string, operand: fc.Arbitrary<unknown>): fc.Arbitrary<Member> {
  return operand.map((one) => [name, one]);
}

const names = (...list: string[]) => fc.constantFrom(...list);

/** Operators of every field. */
function sets(operand: fc.Arbitrary<unknown>): fc.Arbitrary<Member> {
  return fc.oneof(
    fc.tuple(names('$eq', '$ne'), operand),
    fc.tuple(names('$in', '$nin'), few(operand)),
  );
}

const operator = fc.oneof(
  sets(value),
  fc.tuple(names('$gt', '$gte', '$lt', '$lte'), fc.oneof(text, number)),
  member('$exists', fc.boolean()),
);

/** Filters over metadata, content types and these ids. */
export function filters(ids: readonly string[]): fc.Arbitrary<Filter> {
  const id = fc.constantFrom(...ids);
  const type = fc.constantFrom('Text', 'Image');
  const condition = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(names(...KEYS), fc.oneof(value, objectOf(operator, 2))) },
    { weight: 1, arbitrary: member('$id', fc.oneof(id, objectOf(sets(id), 2))) },
    { weight: 1, arbitrary: member('$content_type', fc.oneof(type, objectOf(sets(type), 2))) },
  );
  return fc.letrec<{ filter: Filter; member: Member }>((tie) => ({
    filter: fc.oneof(
      { weight: 1, arbitrary: fc.constant({}) },
      { weight: 15, arbitrary: objectOf(tie('member'), 2).map((members) => members as Filter) },
    ),
    member: fc.oneof(
      { maxDepth: 4 },
      { weight: 3, arbitrary: condition },
      { weight: 1, arbitrary: fc.tuple(names('$and', '$or'), few(tie('filter'), 1)) },
      { weight: 1, arbitrary: member('$not', tie('filter')) },
    ),
  })).filter;
}

/** The text of a value, now and then with other numbers, or with a mistake. */
export function textOf(json: unknown): fc.Arbitrary<string> {
  if (typeof json === 'string') return stringText(fc.constant(json));
  if (typeof json === 'number') {
    const same = { weight: 8, arbitrary: fc.constant(plainNumber(json)) };
    return fc.oneof(same, { weight: 1, arbitrary: numberText });
  }
  if (Array.isArray(json)) return arrayText(fc.tuple(...json.map(textOf)));
  if (typeof json !== 'object' || json === null) return fc.constant(JSON.stringify(json));
  const members = Object.entries(json).map(([name, one]) => [name, textOf(one)] as const);
  return members.length === 0 ? fc.constant('{}') : objectText(Object.fromEntries(members));
}

/** The text of a value in JSON as the service takes it. */
export function plainText(json: unknown): string {
  if (typeof json === 'number') return plainNumber(json);
  if (Array.isArray(json)) return `[${json.map(plainText).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = Object.entries(json).map(
    ([name, one]) => `${JSON.stringify(name)}:${plainText(one)}`,
  );
  return `{${members.join(',')}}`;
}

/** Whole numbers beyond 2^53 are taken only if they are written with an exponent. */
function plainNumber(json: number): string {
  return Math.abs(json) > 2 ** 53 ? json.toExponential() : String(json);
}
