import native from '../../native/index.cjs';

/**
 * Ends the process at once, as a kill would, but with this exit code: what was acknowledged is on
 * disk, and nothing is waited for. Unlike `process.exit` it takes no time for other threads, which
 * may be in the middle of anything.
 */
export function exitNow(code: number): never {
  native.exitNow(code);
  throw new Error('the process goes on after its end');
}
