/** OpenSSL's words for what answers without TLS. */
const NO_TLS = /wrong version number|packet length too long|http request|unexpected message/;

/** Why a connection failed, as the system says it, but on one line and without its places in code. */
export function plainReason(text: string): string {
  const ofTls = /:SSL routines:[^:]*:([^:\n]+)/.exec(text)?.[1];
  if (ofTls === undefined) return text.trim().replace(/\s*\n\s*/g, ' ');
  return NO_TLS.test(ofTls) ? `what answers does not speak TLS (${ofTls})` : `TLS failed: ${ofTls}`;
}
