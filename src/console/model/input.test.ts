import { describe, expect, test } from 'vitest';
import { idFor, InvalidArgumentError } from '../../client/browser.js';
import { failureOf } from './advice.js';
import { parseFilter, parseQuestion } from './input.js';

const ID = '9F3C1D52-6f0e-4c8e-9a51-0a4f5f1f6f0b';

describe('what a search is for', () => {
  test.each(['[1, -2.5, 3e-2]', '1,-2.5,0.03', ' 1 -2.5\n0.03 ', '1 , -2.5 .03'])(
    '%j is a vector',
    (text) => {
      expect(parseQuestion(text, 3)).toEqual({ vector: Float32Array.of(1, -2.5, 0.03) });
    },
  );

  test('a UUID is the id of a point, in either case', () => {
    expect(parseQuestion(` ${ID}\n`, 3)).toEqual({ like: ID.toLowerCase() });
  });

  test.each(['doc-17', '42', '[1, 2, 3]', 'in "quotes"', 'naïve\n'])(
    'in quotes %j is an id of an owner',
    (own) => {
      expect(parseQuestion(` ${JSON.stringify(own)} `, 3)).toEqual({ like: idFor(own), own });
    },
  );

  test('in quotes a UUID is the id of a point all the same', () => {
    expect(parseQuestion(`"${ID}"`, 3)).toEqual({ like: ID.toLowerCase() });
  });

  test.each([
    ['', 'Type a vector or the id of a point.'],
    ['[1, 2]', 'The vector has 2 numbers. The vectors of this service have 3.'],
    ['[1, cat, 3]', 'The vector is no JSON'],
    ['[1,,2,3,4]', 'Expected an array of 4 numbers such as'],
    ['[1,2,3,4', 'The vector is no JSON'],
    ['[1,2,3] 4', 'The vector is no JSON'],
    ['1,,2,3,4', '“” is no number'],
    ['1,2,3,4]', '“4]” is no number'],
    ['[1, "2", 3]', '“2” is no number'],
    ['[1, null, 3]', '“null” is no number'],
    ['[1, [2], 3]', '“[2]” is no number'],
    ['[1, 1e999, 3]', '“Infinity” is no number'],
    ['1, Infinity, 3', '“Infinity” is no number'],
    ['[]', 'The vector has 0 numbers'],
    ['7', 'The vector has 1 number. The vectors of this service have 3.'],
    [ID.slice(1), 'is no number'],
    ['cat', 'or an id of your own in quotes'],
    ['""', 'The id in quotes is empty. Expected one such as "doc-17".'],
    ['"cat', 'The id in quotes is no JSON'],
    ['"1", "2"', 'Expected one such as "doc-17"'],
  ])('%j is neither', (text, message) => {
    const dimension = text.includes('4') ? 4 : 3;
    expect(() => parseQuestion(text, dimension)).toThrow(message);
  });
});

describe('a filter', () => {
  test('is a JSON object, or nothing', () => {
    expect(parseFilter(' {"year": {"$gte": 2020}} ')).toEqual({ year: { $gte: 2020 } });
    expect(parseFilter(' \n')).toBeUndefined();
  });

  test.each(['{', '[1]', '"text"', 'null', 'year > 3'])('%j is none', (text) => {
    expect(() => parseFilter(text)).toThrow('Expected one such as {');
  });
});

describe('a failure', () => {
  test('of the service is shown with its code, its message and what to do', () => {
    const error = new InvalidArgumentError('limit is 0, expected more', { requestId: 'the-id' });
    expect(failureOf(error)).toEqual({
      title: 'INVALID_ARGUMENT',
      message: 'limit is 0, expected more',
      advice: 'Mend what the message names, and ask again.',
      requestId: 'the-id',
    });
  });

  test('of what was typed says so', () => {
    const thrown = (): unknown => {
      try {
        return parseFilter('{');
      } catch (error) {
        return error;
      }
    };
    expect(failureOf(thrown()).title).toBe('Please check what you typed');
    expect(failureOf('a defect').title).toBe('The page failed');
  });
});
