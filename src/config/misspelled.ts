import { nearest } from '../core/nearest.js';
import { SETTINGS } from './settings.js';

const NAMES: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

/** Two edits: a letter too many, one too few, another one, or two that changed places. */
const MOST_EDITS = 2;

/** Variables that other programs read, and whose names are close to one of ours. */
const OTHERS: ReadonlySet<string> = new Set(['HTTPS_PORT', 'HTTPS_HOST']);

/** Lines for the log about variables whose names are nearly those of settings. */
export function misspelledSettings(environment: NodeJS.ProcessEnv): string[] {
  const unknown = Object.keys(environment).filter(
    (name) => !NAMES.includes(name) && !OTHERS.has(name),
  );
  return unknown.flatMap((name) => {
    const meant = nearest(name.toUpperCase(), NAMES, MOST_EDITS);
    return meant === undefined
      ? []
      : [`the environment variable ${name} is not a setting and has no effect: is ${meant} meant?`];
  });
}
