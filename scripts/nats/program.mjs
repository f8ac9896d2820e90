// Where the NATS server is that clusters on this machine run with, in tests, benchmarks and by
// `npm run cluster`.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** What Go installs it from. */
export const NATS_SERVER = 'github.com/nats-io/nats-server/v2@v2.15.3';

export const NATS_SERVER_FOLDER = fileURLToPath(
  new URL('../../.cache/nats-server', import.meta.url),
);

/** Its path: that of NATS_SERVER, on PATH or installed by us; undefined where there is none. */
export function findNatsServer() {
  return process.env.NATS_SERVER || findProgram('nats-server', NATS_SERVER_FOLDER);
}

/** The path of a program on PATH or in one of these folders; undefined where there is none. */
export function findProgram(name, ...others) {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...onPath, ...others].map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
