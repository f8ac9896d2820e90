import { StreamMessage } from '../../gen/vectord/cluster/v1/cluster.js';

/** Who waits for the outcome of a message. */
export interface Sender {
  readonly gateway: string;
  readonly request: number;
}

/** What a message of a stream holds: a change of the engine, a part of one, or where its parts are. */
export type Content = Pick<StreamMessage, 'change' | 'part' | 'parts'>;

/**
 * A message is void, and changes nothing, if the stream stored it so long after it was sent, or before.
 * So a copy that comes after the stream has forgotten its id, which takes two minutes, changes nothing.
 * All replicas decide it by the times in the message and in the stream.
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

/** Whether all that a node sends is void, as its clock differs so much from that of the stream. */
export function isClockOff(offMs: number): boolean {
  return Math.abs(offMs) > MOST_DELAY_MS;
}

export function isVoid({ sentAtMs }: StreamMessage, storedAtMs: number): boolean {
  return isClockOff(storedAtMs - Number(sentAtMs));
}

const NO_CONTENT: Content = { change: undefined, part: undefined, parts: undefined };
