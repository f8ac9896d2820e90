import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTemporaryFolder } from '../support/folders.js';
import { PYTHON_CLIENT_PYTHON } from '../support/tools.mjs';

/** The sources of the Python client. */
export const PYTHON_CLIENT = fileURLToPath(new URL('../../clients/python', import.meta.url));

/** What no test of the client is to be disturbed by, nor to leave behind. */
export const PYTHON_ENVIRONMENT = {
  ...process.env,
  NO_PROXY: '*',
  // Of the plugins that are installed, one is needed, and the others take seconds to load.
  PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
  PYTEST_PLUGINS: 'pytest_asyncio.plugin',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PYTHONDONTWRITEBYTECODE: '1',
};

/** Runs the Python that has what the client needs, and answers what it prints. */
export function runPython(args: readonly string[], python = PYTHON_CLIENT_PYTHON): string {
  const options = { cwd: PYTHON_CLIENT, env: PYTHON_ENVIRONMENT, encoding: 'utf8' } as const;
  return execFileSync(python, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
}

/**
 * Builds the wheel of the client, installs it into a fresh environment, and answers the Python in
 * there. Without a network: the environment sees the packages that are installed for the tests, and
 * pip refuses if they are not what the wheel asks for.
 */
export function installWheel(): { readonly python: string; readonly wheel: string } {
  const folder = makeTemporaryFolder();
  runPython(['-m', 'pip', 'wheel', '.', '--no-deps', '--no-build-isolation', '-w', folder]);
  const wheel = join(folder, readdirSync(folder).find((name) => name.endsWith('.whl')) ?? '');
  const environment = join(folder, 'environment');
  runPython(['-m', 'venv', '--without-pip', environment]);
  const python = join(environment, 'bin', 'python');
  const [packages, ownPackages] = [PYTHON_CLIENT_PYTHON, python].map((program) =>
    runPython(['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], program).trim(),
  );
  writeFileSync(join(ownPackages ?? '', 'packages.pth'), `${packages}\n`);
  const install = ['install', '--no-index', `${wheel}[langchain]`];
  runPython(['-m', 'pip', '--python', python, ...install]);
  return { python, wheel };
}

/** The version in the file that the wheel is made from. */
export function clientVersion(): string | undefined {
  const project = readFileSync(join(PYTHON_CLIENT, 'pyproject.toml'), 'utf8');
  return /^version = "(.+)"$/m.exec(project)?.[1];
}
