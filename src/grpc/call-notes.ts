/** What a call hears of its message. */
export interface MessageNotes {
  /** The message was read into this, arrays for the most part. Throws where they are too large. */
  hasRead(asked: object, messageBytes: number): void;
}

/**
 * A handler and the record of its call know nothing of each other but the message: it leads from the
 * one to the other. A weak map takes longer, for each call.
 */
const NOTES = Symbol('notes');

interface Noted {
  [NOTES]?: MessageNotes;
}

/** Has what a message is read into told to these notes. */
export function watchMessage(message: unknown, notes: MessageNotes): void {
  if (message instanceof Uint8Array) (message as Noted)[NOTES] = notes;
}

/** Tells what a message of so many bytes asks for, once that has been read. */
export function noteRead(message: Uint8Array, messageBytes: number, asked: object): void {
  (message as Noted)[NOTES]?.hasRead(asked, messageBytes);
}
