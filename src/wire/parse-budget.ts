/**
 * The fields of protobuf messages that are read in one go, in about a millisecond: nobody else is
 * served meanwhile. What takes a message long to be read is not its bytes, most of which are values
 * or text: a few KiB of small fields take as long as a megabyte of values. JSON takes about as long
 * as its bytes tell.
 */
export const AT_ONCE_FIELDS = 4_000;

/** More than any request has, where nobody waits. A small integer, counted down in no time. */
export const ANY_FIELDS = 2 ** 30 - 1;

/** A message that has more fields than were to be read of it. */
export class TooManyFields extends Error {
  override readonly name = 'TooManyFields';
}
