import { InvalidArgumentError } from 'commander';

/** Reads what separates the cells of CSV; a tab is hard to type. */
export function delimiter(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty, expected a character or tab.');
  return text === 'tab' || text === '\\t' ? '\t' : text;
}
