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
  override readonly name: string = 'RowFault';
}

/** A vector of another length than the service takes, which those of all rows may have. */
export class LengthFault extends RowFault {
  override readonly name = 'LengthFault';

  constructor(
    readonly length: number,
    dimension: number,
  ) {
    super(`the vector has ${length} values, expected ${dimension}`);
  }
}
