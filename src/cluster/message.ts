import { StreamMessage } from '../gen/vectord/cluster/v1/cluster.js';

/** Who waits for the outcome of a message. */
export interface Sender {
  readonly gateway: string;
  readonly request: number;
}

/** What a message of a stream holds: a change of the engine, a part of one, or where its parts are. */
export type Content = Pick<StreamMessage, 'change' | 'part' | 'parts'>;

/**
 * A message that the stream got so long after it was sent, or before, is void: it changes nothing. It
 * may be one that was sent again and is there already, while the stream has forgotten the id: it
 * remembers ids for two minutes. All replicas decide it by what the stream says.
 */
const MOST_DELAY_MS = 30_000;

/** What a message takes besides its content, more than enough. */
export const ENVELOPE_BYTES = 8 * 1024;

export function encodeMessage({ gateway, request }: Sender, content: Content): Uint8Array {
  const sentAtMs = BigInt(Date.now());
  return StreamMessage.encode({ ...NO_CONTENT, ...content, gateway, request, sentAtMs }).finish();
}

/** The id by which the stream knows a message that is sent again. */
export function messageId({ gateway, request }: Sender, part?: number): string {
  return part === undefined ? `${gateway}-${request}` : `${gateway}-${request}-${part}`;
}

export function isVoid({ sentAtMs }: StreamMessage, storedAtMs: number): boolean {
  return Math.abs(storedAtMs - Number(sentAtMs)) > MOST_DELAY_MS;
}

const NO_CONTENT: Content = { change: undefined, part: undefined, parts: undefined };
