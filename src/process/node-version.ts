/**
 * The first release of each line of Node.js in which HTTP/2 connections that break the flow
 * control rules no longer leak memory (CVE-2026-21714): before it, any client can exhaust a gRPC
 * server without a key.
 */
const FIRST_SAFE_RELEASES: ReadonlyMap<number, readonly [minor: number, patch: number]> = new Map([
  [20, [20, 2]],
  [22, [22, 2]],
  [24, [14, 1]],
  [25, [8, 2]],
]);

/** A warning about a Node.js release that is known to be unsafe for a server; else undefined. */
export function nodeVersionWarning(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => parseInt(part, 10));
  const safe = FIRST_SAFE_RELEASES.get(major);
  if (safe === undefined) return undefined;
  const [safeMinor, safePatch] = safe;
  if (minor > safeMinor || (minor === safeMinor && patch >= safePatch)) return undefined;
  return (
    `Node.js ${version} has a known memory leak in HTTP/2 (CVE-2026-21714), ` +
    `fixed in ${major}.${safeMinor}.${safePatch}: update Node.js`
  );
}
