import { visible } from '../core/visible.js';

/** What a terminal is told to set a text in a colour, by the names that pino has for levels. */
const COLORS: Readonly<Record<string, string>> = {
  trace: '90',
  debug: '36',
  info: '32',
  warn: '33',
  error: '31',
  fatal: '1;31',
};
const DIM = '2';

/** Fields that have a place of their own, or that tell nobody anything who looks at one process. */
const PLACED: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'msg', 'err']);

/** A value that reads the same without quotes. */
const PLAIN = /^[\w.,:/@+[\]-]+$/;

interface Line {
  readonly level?: string;
  readonly time?: string;
  readonly msg?: string;
  readonly err?: { readonly stack?: string };
}

/** A JSON line of the log for people: time, level, message and fields; the stack of an error below. */
export function prettyLine(json: string, hasColors: boolean): string {
  const line = JSON.parse(json) as Line;
  const { level = '', time = '', msg = '', err } = line;
  const paint = (color: string | undefined, text: string): string =>
    hasColors && color !== undefined ? `\u001b[${color}m${text}\u001b[0m` : text;
  const fields = Object.entries(line).flatMap(([name, value]) =>
    PLACED.has(name) ? [] : [`${paint(DIM, `${visible(name)}=`)}${fieldText(value)}`],
  );
  const parts = [
    paint(DIM, timeOfDay(time)),
    paint(COLORS[level], level.toUpperCase().padEnd(5)),
    msg.split('\n').map(visible).join('\n  '),
    ...fields,
  ];
  const stack = (err?.stack ?? '').split('\n').filter((text) => text !== '');
  return [parts.join(' '), ...stack.map((text) => `    ${visible(text.trim())}`), ''].join('\n');
}

/** Of the place where the service runs. */
function timeOfDay(time: string): string {
  return `${new Date(time).toTimeString().slice(0, 8)}${time.slice(19, 23)}`;
}

function fieldText(value: unknown): string {
  return visible(typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value));
}
