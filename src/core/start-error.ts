export const EXIT_OK = 0;
/** Exit codes of a refused start: the operator's files or ports, and the operator's settings. */
export const EXIT_REFUSED = 1;
export const EXIT_BAD_USAGE = 2;
/** What the commands on data folders tell apart besides. */
export const EXIT_DAMAGED = 3;
export const EXIT_IN_USE = 4;
/** A second signal has cut a stop short: its number is added, as shells do. */
export const EXIT_SIGNAL = 128;

/** A start that is refused for a reason that the operator can mend: shown without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT_REFUSED,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What a caught value says, for a message that is built around it. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
