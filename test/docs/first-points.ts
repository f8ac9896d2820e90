import { run } from '../examples/run.js';
import { Vectord } from '../support/vectord.js';
import { blocksOf, PAGES } from './pages.js';

/** The code of the README, in its order. */
export const [
  SET_UP_AND_START = '',
  SET_UP_AND_TEST = '',
  START = '',
  TAKE_KEY = '',
  CURL = '',
  TYPESCRIPT = '',
  RUN_TYPESCRIPT = '',
  INSTALL_PYTHON_CLIENT = '',
  PYTHON = '',
  RUN_PYTHON = '',
] = blocksOf(readme()).map(({ code }) => code);

/** What the three parts print, whichever of them went before. */
export const ANSWERS = {
  curl: /"stored":2,.*"distance":0\.00\d+,"content":"a cat"/s,
  typescript: "[ 'a bird', 'a fish' ]\n",
  python: "['a bird', 'a bat']\n",
};

/** A terminal of the reader of the README: a folder, its environment, and the service that it reaches. */
export interface Terminal {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly service: Vectord;
}

/** The README. */
export function readme() {
  const page = PAGES.find(({ path }) => path === 'README.md');
  if (page === undefined) throw new Error('there is no README.md');
  return page;
}

/** Pastes code into the terminal; answers how it ended. */
export function paste({ cwd, env, service }: Terminal, ...code: readonly string[]) {
  return run('sh', ['-ec', here(service, code.join(''))], { cwd, env });
}

/** The code, for the service that is meant here: it has not the ports of the pages. */
export function here(service: Vectord, code: string): string {
  return code
    .replaceAll('http://127.0.0.1:3000', service.value('HTTP'))
    .replaceAll('127.0.0.1:50051', service.value('gRPC'));
}

/** Starts a service by a command of the README, which may take minutes. */
export async function startBy(
  command: string,
  { cwd, env }: Omit<Terminal, 'service'>,
  patienceMs: number,
): Promise<Vectord> {
  const launch = { command: ['sh', '-c', command], cwd, detached: true };
  const service = new Vectord(env, [], launch);
  try {
    await service.until(() => /^ready$/m.test(service.stdout), patienceMs);
  } catch (error) {
    // Else a compilation would go on.
    await interrupt(service);
    throw error;
  }
  return service;
}

/** Ctrl-C: a signal to all that the command has started. */
export async function interrupt(service: Vectord): Promise<void> {
  try {
    process.kill(-(service.process.pid ?? 0), 'SIGINT');
  } catch {
    // It has ended.
  }
  await service.exit;
}
