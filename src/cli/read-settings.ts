import { readConfig, type Config } from '../config/config.js';
import { misspelledSettings } from '../config/misspelled.js';

/** The settings of a command, which warns on the standard error: the standard output has its results. */
export function readSettings(): Config {
  for (const line of misspelledSettings(process.env)) process.stderr.write(`warning: ${line}\n`);
  return readConfig(process.env);
}
