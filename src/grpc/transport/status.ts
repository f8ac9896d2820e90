import type { OutgoingHttpHeaders } from 'node:http2';
import { ServerError, Status } from 'nice-grpc-common';

/** Bytes of a message that are percent-encoded: all but printable ASCII, and the percent sign. */
const ENCODED = /[^\x20-\x24\x26-\x7e]+/g;

/** The trailers that end a call. */
export function statusTrailers(code: Status, details: string): OutgoingHttpHeaders {
  if (code === Status.OK && details === '') return { 'grpc-status': '0' };
  return { 'grpc-status': String(code), 'grpc-message': percentEncode(details) };
}

function percentEncode(text: string): string {
  return text.toWellFormed().replace(ENCODED, (part) => encodeURIComponent(part));
}

/** What a failure of a handler tells the client; of one that is not meant for it nothing. */
export function statusOf(error: unknown): { code: Status; details: string } {
  if (error instanceof ServerError) return { code: error.code, details: error.details };
  return { code: Status.UNKNOWN, details: 'Unknown server error occurred' };
}
