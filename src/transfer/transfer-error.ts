/** A file, a column or an option that cannot be used; the message says which, and what to do. */
export class TransferError extends Error {
  override readonly name: string = 'TransferError';
}

/** The command was given what cannot be meant. */
export class UsageError extends TransferError {
  override readonly name = 'UsageError';
}

/** Why one row is not stored, while those beside it are. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}
