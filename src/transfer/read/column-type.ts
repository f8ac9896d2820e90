import { TransferError } from '../transfer-error.js';

/** Refuses a column of a type that would have to be made into another one, as nobody asked for. */
export function typeFault(path: string, column: string, type: string): TransferError {
  return new TransferError(
    `${path}: the column "${column}" is of the type ${type}, expected strings, booleans, integers, ` +
      'floats, or lists of these: cast it where the file is made, as to a string',
  );
}
