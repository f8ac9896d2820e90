/** What the handler of a call has learned of it, for the record of the call. */
export interface CallNotes {
  /** What it asks for, once it has been read. */
  readonly asked?: object;
  /** Why the call fails. */
  readonly failure?: unknown;
}

/**
 * A handler and the record of its call know nothing of each other but the message: what the one
 * learns is kept for the other on it. A weak map takes longer, for each call.
 */
const NOTES = Symbol('notes');

interface Noted {
  [NOTES]?: CallNotes;
}

export function noteOn(message: object, note: CallNotes): void {
  const noted: Noted = message;
  const earlier = noted[NOTES];
  noted[NOTES] = earlier === undefined ? note : { ...earlier, ...note };
}

export function notesOn(message: object | undefined): CallNotes {
  return (message as Noted | undefined)?.[NOTES] ?? {};
}
