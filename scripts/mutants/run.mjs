import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';

/** A mistake may also show as a test that never ends. */
const TEST_TIMEOUT_MS = 300_000;

/** Runs tests until they end, a line says that one has failed, or they take too long. */
export async function runTests(command, args, options, saysFailure = () => false) {
  return await run(command, args, options, saysFailure, TEST_TIMEOUT_MS);
}

/** Runs a command; answers whether it ended well. */
export async function run(command, args, options, saysFailure = () => false, timeoutMs = 0) {
  const child = spawn(command, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'ignore'],
    // A group of its own: what the command has started ends with it.
    detached: true,
  });
  const end = () => process.kill(-child.pid, 'SIGKILL');
  const timer = timeoutMs > 0 ? setTimeout(end, timeoutMs) : undefined;
  createInterface(child.stdout).on('line', (line) => {
    if (saysFailure(line) && child.exitCode === null) end();
  });
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  return status === 0;
}
