import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url);

interface Row {
  readonly statement: string;
  /** Each as `file > test`. */
  readonly tests: string[];
}

/** The rows of every table; a row without a statement goes on with the tests of the one above. */
function readRows(markdown: string): Row[] {
  const rows: Row[] = [];
  for (const line of markdown.split('\n')) {
    const cells = /^\| (.*?) *\| `(.+?)` *\|$/.exec(line);
    if (cells === null) continue;
    const [, statement = '', reference = ''] = cells;
    if (statement !== '') rows.push({ statement, tests: [] });
    rows.at(-1)?.tests.push(reference);
  }
  return rows;
}

const markdown = readFileSync(new URL('docs/CONFORMANCE.md', ROOT), 'utf8');
const rows = readRows(markdown);

describe('docs/CONFORMANCE.md', () => {
  test('has no line in a table that is not a statement or a test', () => {
    const lines = markdown.split('\n').filter((line) => line.startsWith('|'));
    const others = lines.filter((line) => !/^\| (.*?) *\| `(.+?)` *\|$/.test(line));
    expect(others.filter((line) => !/^\| (?:Statement +\| Test|-+ \| -+) *\|$/.test(line))).toEqual(
      [],
    );
  });

  test('has each statement once', () => {
    const statements = rows.map(({ statement }) => statement);
    expect(statements.length).toBeGreaterThan(50);
    expect(new Set(statements).size).toBe(statements.length);
  });

  test.each(rows.map(({ statement, tests }) => [statement, tests] as const))(
    'names tests that are there: %s',
    (_, tests) => {
      expect(tests.filter((reference) => !isThere(reference))).toEqual([]);
    },
  );
});

/** Whether the file has a test, or a group of tests, of this name. */
function isThere(reference: string): boolean {
  const [path = '', name = ''] = reference.split(/ > (.*)/);
  const url = new URL(path, ROOT);
  if (name === '' || !existsSync(fileURLToPath(url))) return false;
  const source = readFileSync(url, 'utf8');
  const quoted = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = path.endsWith('.rs')
    ? String.raw`#\[test\]\n(?:\s*#\[.*\]\n)*\s*fn ${quoted}\(`
    : String.raw`(?:\b(?:test|it|describe|underAttack)(?:\.concurrent)?|\))\(\s*(['"\`])${quoted}\1,`;
  return new RegExp(pattern).test(source);
}
