import { readFileSync } from 'node:fs';
import { EXIT_BAD_USAGE, messageOf, StartError } from '../core/start-error.js';

/** A key, and where it comes from. */
export interface GivenKey {
  readonly text: string;
  readonly origin: string;
}

/** What a header carries unchanged, in which a key is sent. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * The key for a service: of the file that is named, else of VECTORD_KEY; undefined without either.
 * A file holds the key alone. No message quotes it.
 */
export function givenKey(file: string | undefined): GivenKey | undefined {
  const variable = process.env['VECTORD_KEY'];
  if (file !== undefined) return checked(readKey(file), file);
  return variable === undefined ? undefined : checked(variable, 'VECTORD_KEY');
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new StartError(`the key file ${file} cannot be read: ${messageOf(error)}`);
  }
}

function checked(text: string, origin: string): GivenKey {
  if (VISIBLE_ASCII.test(text)) return { text, origin };
  const found = text === '' ? 'is empty' : 'holds more than a key: spaces, lines or other letters';
  throw new StartError(`${origin} ${found}, expected one key and nothing else`, EXIT_BAD_USAGE);
}
