/** What the handler of a call has learned of it, for the record of the call. */
export interface CallNotes {
  /** What it asks for, once it has been read. */
  readonly asked?: object;
  /** Why the call fails. */
  readonly failure?: unknown;
}

/**
 * A handler and the record of its call know nothing of each other but the message: what the one
 * learns is kept for the other here.
 */
const notes = new WeakMap<object, CallNotes>();

export function noteOn(message: object, note: CallNotes): void {
  const earlier = notes.get(message);
  notes.set(message, earlier === undefined ? note : { ...earlier, ...note });
}

export function notesOn(message: object | undefined): CallNotes {
  return (message === undefined ? undefined : notes.get(message)) ?? {};
}
