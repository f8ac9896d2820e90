import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { Metadata } from 'nice-grpc';

/** Keys that belong to the protocol itself, and that no handler sees or sets. */
const RESERVED = /^(?::|grpc-|content-type$|te$|connection$|host$)/;

/** The metadata that a client sent: all headers that are not of the protocol. */
export function readMetadata(headers: IncomingHttpHeaders): Metadata {
  const metadata = new Metadata();
  for (const key of Object.keys(headers)) {
    const value = headers[key];
    if (value === undefined || (RESERVED.test(key) && key !== 'grpc-trace-bin')) continue;
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
    if (RESERVED.test(key)) continue;
    to[key] = values.map((value) =>
      typeof value === 'string' ? value : Buffer.from(value).toString('base64'),
    );
  }
}
