import { readConfig, type Config } from '../config/config.js';
import { misspelledSettings } from '../config/misspelled.js';

/** The settings of a command, which warns on the standard error: the standard output has its results. */
export function readSettings(): Config {
  warnOfMisspelled();
  return readConfig(process.env);
}

export function warnOfMisspelled(): void {
  for (const line of misspelledSettings(process.env)) process.stderr.write(`warning: ${line}\n`);
}
