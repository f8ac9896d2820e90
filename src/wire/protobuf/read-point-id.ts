import type { PointID, UUID } from '../../gen/vectordb/vectordb.js';
import { WireReader, WireType, tagOf } from './wire-reader.js';

const ID = tagOf(1, WireType.LengthDelimited);
const VALUE = tagOf(1, WireType.LengthDelimited);

/** A PointID as it came: what is missing or no UUID is the handler's to refuse. */
export function readPointId(bytes: Uint8Array): PointID {
  const reader = new WireReader(bytes);
  let id: UUID | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ID) id = readUuid(reader, id);
    else reader.skipField(tag);
  }
  return { id };
}

/** The UUID that follows; one without its text keeps what an earlier occurrence gave it. */
function readUuid(reader: WireReader, earlier: UUID | undefined): UUID {
  let value = earlier?.value ?? '';
  const outerEnd = reader.enter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === VALUE) value = reader.string();
    else reader.skipField(tag);
  }
  reader.leave(outerEnd);
  return { value };
}
