import { noPageToken, type PageToken } from '../../core/page-token.js';

/** Where a page begins: in a shard, behind what a token of that shard says or at its beginning. */
export interface ShardPage {
  readonly shard: number;
  readonly after: PageToken | undefined;
}

/** The number of shards, and that of the shard. */
const START_BYTES = 4;

/** The token of the page that begins there, of so many shards. */
export function shardToken(shard: number, shards: number, after?: PageToken): PageToken {
  const start = Buffer.alloc(START_BYTES);
  start.writeUInt16BE(shards);
  start.writeUInt16BE(shard, 2);
  return after === undefined ? start : Buffer.concat([start, after]);
}

/** Throws a VectordError for a token that is none of so many shards. */
export function readShardToken(token: PageToken, shards: number): ShardPage {
  if (token.length < START_BYTES) throw noPageToken();
  const bytes = Buffer.from(token);
  const shard = bytes.readUInt16BE(2);
  if (bytes.readUInt16BE() !== shards || shard >= shards) throw noPageToken();
  return { shard, after: token.length === START_BYTES ? undefined : bytes.subarray(START_BYTES) };
}
