import { createRequire } from 'node:module';
import { StartError } from '../core/start-error.js';

const NOT_FOUND = /^Cannot find module '([^']+)'/;
const PLATFORMS = 'Linux (x64 and arm64, glibc and musl) and macOS (x64 and arm64)';
const REMEDY =
  'In a clone of vectord run `npm ci`, which builds it with Rust. For the package run ' +
  '`npm install --include=optional`, without node_modules and package-lock.json of another platform.';

/** Loads the addon, or says what to do where there is none for this platform. */
export function requireAddon(): void {
  try {
    createRequire(import.meta.url)('../../native/index.cjs');
  } catch (error) {
    throw new StartError(`${whatIsWrong(error)}\n${REMEDY}`, undefined, { cause: error });
  }
}

/**
 * The loader tries a file beside it, then the package of the platform, then WebAssembly. The error of
 * an attempt is the cause of the next one's. An attempt that found a binary tells more than the others.
 */
function whatIsWrong(error: unknown): string {
  const attempts = causesOf(error);
  const refused = attempts.find((attempt) => !NOT_FOUND.test(attempt));
  if (refused !== undefined) return `its binary cannot be loaded: ${refused.split('\n', 1)[0]}`;
  const names = attempts.map((attempt) => NOT_FOUND.exec(attempt)?.[1] ?? '');
  const name = names.findLast((candidate) => candidate.startsWith('vectord-'));
  return `the package ${name ?? 'of this platform'} with its binary is missing; there are binaries for ${PLATFORMS}.`;
}

/** From the last attempt to the first. */
function causesOf(error: unknown): string[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? [cause.message, ...causesOf(cause)] : [];
}
