const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path of a request target exactly as it was sent, nothing decoded and nothing resolved: a
 * check must never see another path than the router does.
 */
export function pathOf(target: string): string {
  const afterAuthority = target.replace(SCHEME_AND_AUTHORITY, '');
  const query = afterAuthority.indexOf('?');
  return query === -1 ? afterAuthority : afterAuthority.slice(0, query);
}

/** Whether a path is at or below /points or /v1, where every request needs a key. */
export function needsKey(path: string): boolean {
  return path === '/points' || path.startsWith('/points/') || isBelowV1(path);
}

export function isBelowV1(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** Whether a path is free of what could be read as another path: escapes and dot segments. */
export function isPlain(path: string): boolean {
  return /^[a-zA-Z0-9/._-]*$/.test(path) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(path);
}
