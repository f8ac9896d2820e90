import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { Metadata } from 'nice-grpc-common';

/** Keys of the protocol itself, which handlers neither see nor set, but for the two below. */
const RESERVED = /^(?::|grpc-|content-type$|te$|connection$|host$)/;

/** A handler sees it. */
const TRACE = 'grpc-trace-bin';

/** A handler may set it: the trailer in which clients of gRPC look for a google.rpc.Status. */
export const STATUS_DETAILS = 'grpc-status-details-bin';

/** The metadata that a client sent: all headers that are not of the protocol. */
export function readMetadata(headers: IncomingHttpHeaders): Metadata {
  const metadata = new Metadata();
  for (const key of Object.keys(headers)) {
    const value = headers[key];
    if (value === undefined || (RESERVED.test(key) && key !== TRACE)) continue;
    const values = typeof value === 'string' ? [value] : value;
    if (key.endsWith('-bin')) metadata.set(key, values.flatMap(readBinary));
    else metadata.set(key, values);
  }
  return metadata;
}

/** Several binary values come as one, with commas between them. */
function readBinary(text: string): Buffer[] {
  return text.split(',').map((part) => Buffer.from(part, 'base64'));
}

/** Adds metadata to headers or trailers. */
export function writeMetadata(metadata: Metadata, to: OutgoingHttpHeaders): void {
  for (const [key, values] of metadata) {
    if (RESERVED.test(key) && key !== STATUS_DETAILS) continue;
    to[key] = values.map((value) => (typeof value === 'string' ? value : binaryText(value)));
  }
}

/** The base64 of a binary value, without padding: receivers accept padding, but gRPC sends none. */
export function binaryText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
