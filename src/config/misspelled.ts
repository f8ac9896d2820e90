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

/** The word with the fewest edits from `text`, if one has no more than `mostEdits`. */
function nearest(text: string, words: readonly string[], mostEdits: number): string | undefined {
  const found = words
    .filter((word) => Math.abs(word.length - text.length) <= mostEdits)
    .map((word) => ({ word, edits: editDistance(text, word) }))
    .toSorted((a, b) => a.edits - b.edits)[0];
  return found !== undefined && found.edits <= mostEdits ? found.word : undefined;
}

/** Levenshtein distance: insertions, deletions and substitutions that make one text the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const substituted = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(substituted, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
