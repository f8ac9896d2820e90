const READABLE_BY_OTHERS = 0o004;

/** A line for the log if users other than the owner and the group can read a file with a secret. */
export function secretFileWarning(what: string, path: string, mode: number): string | undefined {
  if ((mode & READABLE_BY_OTHERS) === 0) return undefined;
  return (
    `every user of this machine can read the ${what} ${path} ` +
    `(mode ${mode.toString(8)}): chmod o-r ${path}`
  );
}
