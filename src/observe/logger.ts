import { isatty } from 'node:tty';
import {
  destination,
  pino,
  stdTimeFunctions,
  type DestinationStream,
  type LevelWithSilent,
  type Logger,
} from 'pino';
import { prettyLine } from './pretty.js';

export type { Logger } from 'pino';

/** JSON lines for machines, or lines for people. */
export type LogFormat = 'json' | 'pretty';

/**
 * Names under which a secret or a vector could come along with a logged object. Nothing logs them
 * on purpose: this is the second line of defence.
 */
const SECRET_FIELDS = ['key', 'apiKey', '["api-key"]', 'authorization', 'sha256', 'vector'];

const STDERR = 2;

/** So much of the log is kept while it cannot be written, as on a full disk; the rest is dropped. */
const MOST_UNWRITTEN_BYTES = 1024 * 1024;

/** The log, on stderr: each line is written before the call returns so that none is lost. */
export function createLogger(
  level: LevelWithSilent,
  output: DestinationStream = standardError(),
): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap(atAnyDepth), censor: '[redacted]' },
    },
    output,
  );
}

/**
 * What cannot be written now is tried again with the next line, and nobody is kept from anything.
 * Lines are for people on a terminal, else for machines, unless it is said.
 */
export function standardError(format?: LogFormat): DestinationStream {
  const output = destination({ fd: STDERR, sync: true, maxLength: MOST_UNWRITTEN_BYTES });
  output.on('error', () => {});
  const isTerminal = isatty(STDERR);
  if ((format ?? (isTerminal ? 'pretty' : 'json')) === 'json') return output;
  const { NO_COLOR: noColor = '', TERM: terminal } = process.env;
  const hasColors = isTerminal && noColor === '' && terminal !== 'dumb';
  return { write: (line) => void output.write(prettyLine(line, hasColors)) };
}

/** Depth 3 is that of the headers of a logged request. */
function atAnyDepth(field: string): string[] {
  const bracketed = field.startsWith('[') ? field : `.${field}`;
  return [field, `*${bracketed}`, `*.*${bracketed}`];
}
