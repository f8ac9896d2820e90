/**
 * A handler and the record of its call know nothing of each other but the message: what the handler
 * has read from it is kept on it for the log. A weak map takes longer, for each call.
 */
const ASKED = Symbol('asked');

interface Noted {
  [ASKED]?: object;
}

/** Notes what a message asks for, once that has been read. */
export function noteAsked(message: object, asked: object): void {
  (message as Noted)[ASKED] = asked;
}

/** What a message asks for, as far as that is known. */
export function askedOf(message: unknown): unknown {
  if (typeof message !== 'object' || message === null) return undefined;
  return (message as Noted)[ASKED] ?? message;
}
