import { ByteArena } from './byte-arena.js';
import { WireReader, WireType, tagOf } from './wire-reader.js';

const ITEMS = tagOf(1, WireType.LengthDelimited);

/** What refuses a batch of too many items, by throwing. */
export type CheckCount = (count: number) => void;

/**
 * The items of a batch message, each a message in field 1. They are counted first, so that a small
 * message of very many empty items is refused before it costs memory.
 */
export function readItems<Item>(
  bytes: Uint8Array,
  checkCount: CheckCount,
  readItem: (reader: WireReader, values: ByteArena) => Item,
  maxFields?: number,
): Item[] {
  checkCount(countItems(bytes, maxFields));
  const items: Item[] = [];
  const reader = new WireReader(bytes, maxFields);
  const values = new ByteArena(bytes.length);
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ITEMS) {
      const outerEnd = reader.enter();
      items.push(readItem(reader, values));
      reader.leave(outerEnd);
    } else {
      reader.skipField(tag);
    }
  }
  return items;
}

/** How often a message has its field 1, if that is a message or a text. */
export function countItems(bytes: Uint8Array, maxFields?: number): number {
  const reader = new WireReader(bytes, maxFields);
  let count = 0;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ITEMS) count += 1;
    reader.skipField(tag);
  }
  return count;
}
