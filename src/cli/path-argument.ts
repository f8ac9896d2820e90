import { InvalidArgumentError } from 'commander';

/** Reads a path. What begins like an option was meant as one. */
export function pathArgument(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty, expected a path.');
  if (text.startsWith('-')) {
    throw new InvalidArgumentError(`Expected a path: write ./${text} if that is the name.`);
  }
  return text;
}
