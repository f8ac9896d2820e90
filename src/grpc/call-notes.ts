/** What the handler of a call has learned of it, for the record of the call. */
export interface CallNotes {
  /** What a batch asks for, once it has been read. */
  readonly asked?: object;
  /** Why the call fails. */
  readonly failure?: unknown;
}

/**
 * A handler and the record of its call know nothing of each other but the message. What is rare
 * is told by it here: batches, which are few and large, and failures.
 */
const notes = new WeakMap<object, CallNotes>();

export function noteOn(message: object, note: CallNotes): void {
  notes.set(message, { ...notes.get(message), ...note });
}

export function notesOn(message: object | undefined): CallNotes {
  return (message === undefined ? undefined : notes.get(message)) ?? {};
}
