/**
 * How much of a request may be read in one go. What takes a request long to be read is not its
 * bytes, most of which are values or text, but what they are cut into: a few KiB of small fields
 * take as long as a megabyte of values.
 */
export interface Effort {
  /** Fields of messages. */
  readonly fields: number;
  /** Arrays, objects and strings of JSON, the values of vectors aside. */
  readonly parts: number;
}

/** What is read in about a millisecond: nobody else is served meanwhile. */
export const AT_ONCE: Effort = { fields: 4_000, parts: 500 };

/** More than any request has. A small integer, which is counted down in no time. */
const ANY = 2 ** 30 - 1;

/** Where nobody waits. */
export const ANY_EFFORT: Effort = { fields: ANY, parts: ANY };

/** A request that takes more than the effort that it was to be read with. */
export class TooMuchEffort extends Error {
  override readonly name = 'TooMuchEffort';
}
