import { readFileSync, readlinkSync, realpathSync } from 'node:fs';

/** How late, at most, the end of npm is noticed. */
const CHECK_INTERVAL_MS = 200;

/** How npm says that a process runs for as long as npm does: `npm start`, `npm run cluster`, `npx`. */
const FOREGROUND_EVENTS: ReadonlySet<string | undefined> = new Set(['start', 'cluster', 'npx']);

/** Whether this process was started through npm, which passes signals on. */
export function isUnderNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

/**
 * Resolves once the `npm start` that this process belongs to has ended; never for any other
 * process. npm passes a signal on to a shell, and not every shell to what it has started: without
 * this, a signal to npm would leave a service behind that nobody stops.
 */
export async function npmEnd(): Promise<void> {
  const { npm_lifecycle_event: event, npm_node_execpath: program } = process.env;
  if (!FOREGROUND_EVENTS.has(event)) return await new Promise(() => {});
  const { ppid } = process;
  const shell = isRunning(ppid, program) ? undefined : ppid;
  const npm = shell === undefined ? ppid : parentOf(shell);
  const hasEnded = (): boolean =>
    process.ppid !== ppid || (shell !== undefined && parentOf(shell) !== npm);
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (!hasEnded()) return;
      clearInterval(timer);
      resolve();
    }, CHECK_INTERVAL_MS);
    timer.unref();
  });
}

/** Whether a process runs this program; also where the system does not tell. */
function isRunning(pid: number, program: string | undefined): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`) === realpathSync(program ?? '');
  } catch {
    return true;
  }
}

/** The parent of a process; undefined where the system does not tell. */
function parentOf(pid: number): number | undefined {
  try {
    // The name of the program stands in parentheses, and may hold any character.
    const afterName = /^.*\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return Number(afterName?.[1]);
  } catch {
    return undefined;
  }
}
