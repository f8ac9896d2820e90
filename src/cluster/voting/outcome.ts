import { Outcome as WireOutcome } from '../../gen/vectord/cluster/v1/cluster.js';
import type { Outcome, StreamPosition } from '../../engine/native.js';

/** What a message has done, as replicas tell it: the same bytes from all that have the same history. */
export function encodeOutcome(outcome: Outcome, isVoid: boolean): Uint8Array {
  const { stored, replaced, kept, deleted, found, refused } = outcome;
  return WireOutcome.encode({
    position: toWirePosition(outcome),
    isVoid,
    stored,
    replaced,
    kept,
    deleted: BigInt(deleted),
    found,
    refused,
  }).finish();
}

export interface ConfirmedOutcome extends Omit<Outcome, 'refused'> {
  /** The message came too late: it has changed nothing. */
  readonly isVoid: boolean;
  /** Why every replica refuses it. */
  readonly refused: Outcome['refused'] | undefined;
}

export function decodeOutcome(bytes: Uint8Array): ConfirmedOutcome {
  const { position, deleted, ...rest } = WireOutcome.decode(bytes);
  const { refused } = rest;
  return { ...fromWirePosition(position), ...rest, deleted: Number(deleted), refused };
}

interface WirePosition {
  readonly sequence: bigint;
  readonly chain: number;
}

export function toWirePosition({ sequence, chain }: StreamPosition): WirePosition {
  return { sequence: BigInt(sequence), chain };
}

export function fromWirePosition(position: WirePosition | undefined): StreamPosition {
  return { sequence: Number(position?.sequence ?? 0), chain: position?.chain ?? 0 };
}
