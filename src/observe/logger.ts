import {
  destination,
  pino,
  stdTimeFunctions,
  type DestinationStream,
  type LevelWithSilent,
  type Logger,
} from 'pino';

export type { Logger } from 'pino';

/**
 * Names under which a secret or a vector could come along with a logged object. Nothing logs them
 * on purpose: this is the second line of defence.
 */
const SECRET_FIELDS = ['key', 'apiKey', '["api-key"]', 'authorization', 'sha256', 'vector'];

/** So much of the log is kept while it cannot be written, as on a full disk; the rest is dropped. */
const MOST_UNWRITTEN_BYTES = 1024 * 1024;

/** The log: JSON lines on stderr, written before the call returns so that none is lost. */
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

/** What cannot be written now is tried again with the next line, and nobody is kept from anything. */
function standardError(): DestinationStream {
  const output = destination({ fd: 2, sync: true, maxLength: MOST_UNWRITTEN_BYTES });
  output.on('error', () => {});
  return output;
}

/** Depth 3 is that of the headers of a logged request. */
function atAnyDepth(field: string): string[] {
  const bracketed = field.startsWith('[') ? field : `.${field}`;
  return [field, `*${bracketed}`, `*.*${bracketed}`];
}
