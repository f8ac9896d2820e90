import { expect, test } from 'vitest';
import { createLogger } from './logger.js';
import { prettyLine } from './pretty.js';

function written(hasColors: boolean, log: (logger: ReturnType<typeof createLogger>) => void) {
  let text = '';
  const write = (line: string): void => void (text += prettyLine(line, hasColors));
  log(createLogger('trace', { write }));
  return text;
}

test('a line has the time of day, the level, the message and the fields', () => {
  const text = written(false, (logger) =>
    logger.warn({ port: 3000, path: './data', reason: 'it is gone', list: [1, 2] }, 'be careful'),
  );
  expect(text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN  be careful port=3000 path=\.\/data /);
  expect(text).toMatch(/ reason="it is gone" list=\[1,2\]\n$/);
});

test('an error is told with its stack, line by line', () => {
  const err = new Error('it broke');
  const text = written(false, (logger) => logger.error({ err }, 'request failed'));
  const [head, ...stack] = text.trimEnd().split('\n');
  expect(head).toMatch(/ ERROR request failed$/);
  expect(stack.map((line) => line.trim())).toEqual(
    err.stack?.split('\n').map((line) => line.trim()),
  );
});

test('colours only where they are wanted', () => {
  const log = (logger: ReturnType<typeof createLogger>): void => logger.info({ a: 1 }, 'hello');
  expect(written(false, log)).not.toContain('\u001b');
  expect(written(true, log)).toContain('\u001b[32mINFO \u001b[0m hello \u001b[2ma=\u001b[0m1\n');
});

test('what others chose cannot act on the terminal, and is one line', () => {
  const evil = 'a\u001b[2J\nb\u009b31m\u007f\r';
  const text = written(false, (logger) => logger.info({ evil, [evil]: 1 }, `x${evil}`));
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(text.split('\n')).toHaveLength(3);
});
