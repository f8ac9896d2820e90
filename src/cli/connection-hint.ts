/** What to do about a connection to `url` that has failed for this reason, in brackets. */
export function connectionHint(url: string, reason: string): string {
  const hint = hintFor(url, reason);
  return hint === '' ? '' : ` (${hint})`;
}

function hintFor(url: string, reason: string): string {
  const isSecure = /^(?:http|grpc)s:/i.test(url);
  if (isSecure && /does not speak TLS|before secure TLS/.test(reason)) {
    return `without TLS the address is ${url.replace(/s:/i, ':')}`;
  }
  if (isSecure && /self-signed certificate|unable to (?:get|verify)/i.test(reason)) {
    const setting = /^grpcs:/i.test(url) ? '--ca-file' : 'the variable NODE_EXTRA_CA_CERTS';
    return `${setting} names the file of the authority to trust, in PEM`;
  }
  // It says what is wrong with one, and another address may not be meant.
  if (isSecure && reason.includes('certificate')) return '';
  if (!isSecure && /closed|reset|hang up/i.test(reason)) {
    return `is it running at ${url}? by TLS the address is ${url.replace(':', 's:')}`;
  }
  return `is it running at ${url}? --url names another address`;
}
