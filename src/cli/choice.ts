import { InvalidArgumentError, Option } from 'commander';
import { nearest } from '../core/nearest.js';

/** In a word of three letters, one. */
const MOST_EDITS = 2;

/** An option that takes one of these words, in any case of letters. */
export function choice(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices(words).argParser((text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed choices are ${words.join(', ')}.${guess(text, words)}`);
  });
}

/** In the words of commander, which guesses commands and names of options alone. */
function guess(text: string, words: readonly string[]): string {
  const lower = new Map(words.map((word) => [word.toLowerCase(), word]));
  const mostEdits = Math.min(MOST_EDITS, Math.floor(text.length / 2));
  const meant = nearest(text.toLowerCase(), [...lower.keys()], mostEdits);
  return meant === undefined ? '' : `\n(Did you mean ${lower.get(meant)}?)`;
}
