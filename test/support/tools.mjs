// Where the programs of others are that some tests run against the service; see install.mjs.
import { readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isExecutable } from '../../scripts/nats/program.mjs';

export { findNatsServer, findProgram } from '../../scripts/nats/program.mjs';

const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url));

export const GRPCURL_FOLDER = join(CACHE, 'grpcurl');
export const GO_FOLDER = join(CACHE, 'go');
export const GO_EXAMPLE_FOLDER = join(CACHE, 'go-example');
export const GRPC_GO_FOLDER = join(CACHE, 'grpc-go');
export const GRPC_PYTHON_FOLDER = join(CACHE, 'grpc-python');
export const VORTEXDB_FOLDER = join(CACHE, 'vortexdb');
export const SCHEMATHESIS_FOLDER = join(CACHE, 'schemathesis');
export const HADOLINT_FOLDER = join(CACHE, 'hadolint');
export const PYTHON_CLIENT_FOLDER = join(CACHE, 'python-client');
export const TYPEDOC_FOLDER = join(CACHE, 'typedoc');
export const PYTHON_PROTOC_FOLDER = join(CACHE, 'python-protoc');
export const EMBEDDINGS_FOLDER = join(CACHE, 'embeddings');

/** The program of test/grpc/clients/go. */
export const GRPC_GO_CLIENT = join(GRPC_GO_FOLDER, 'client');

/** The program of examples/go. */
export const GO_EXAMPLE = join(GO_EXAMPLE_FOLDER, 'example');

/** The Python of the environment in which grpcio is installed. */
export const GRPC_PYTHON = join(GRPC_PYTHON_FOLDER, 'bin', 'python');

/** The Python of the environment that has what our own client needs, but not the client. */
export const PYTHON_CLIENT_PYTHON = join(PYTHON_CLIENT_FOLDER, 'bin', 'python');

/** The program that makes the reference of the TypeScript client. */
export const TYPEDOC = join(TYPEDOC_FOLDER, 'node_modules/typedoc/bin/typedoc');

/** The Python of the environment that generates the messages of our own client. */
export const PYTHON_PROTOC = join(PYTHON_PROTOC_FOLDER, 'bin', 'python');

/** The Python of the environment that has the model of examples/embeddings. */
export const EMBEDDINGS_PYTHON = join(EMBEDDINGS_FOLDER, 'bin', 'python');

/** The command of h2spec, which sends what HTTP/2 allows, and what it does not. */
export const H2SPEC = join(CACHE, 'h2spec', 'h2spec');

export const PORCUPINE_FOLDER = join(CACHE, 'porcupine');

/** The program of test/cluster/porcupine; undefined where it is not built. */
export function findPorcupine() {
  const program = join(PORCUPINE_FOLDER, 'porcupine');
  return isExecutable(program) ? program : undefined;
}

/** The Python of the environment in which the published client is installed. */
export const VORTEXDB_PYTHON = join(VORTEXDB_FOLDER, 'bin', 'python');

/** The command of schemathesis, which sends what an OpenAPI document allows, and what it does not. */
export const SCHEMATHESIS = join(SCHEMATHESIS_FOLDER, 'bin', 'schemathesis');

/** The command that finds faults of Dockerfiles. */
export const HADOLINT = join(HADOLINT_FOLDER, 'bin', 'hadolint');

/** The packages of Chromium, unpacked. */
export const CHROMIUM_FOLDER = join(CACHE, 'chromium');

/** What Chromium, or a browser made of it, is called. */
const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/**
 * A Chromium as playwright launches it: that of CHROME_PATH, one on PATH or the one installed by us;
 * undefined where there is none.
 */
export function findChromium() {
  const installed = [process.env.CHROME_PATH, ...CHROMIUM_NAMES.map((name) => findProgram(name))];
  const executablePath = installed.find((path) => path !== undefined);
  if (executablePath !== undefined) return { executablePath, env: { ...process.env } };
  const unpacked = join(CHROMIUM_FOLDER, 'usr/lib/chromium/chromium');
  if (!isExecutable(unpacked)) return undefined;
  // Its own libraries are beside it, and not where the system looks for them.
  const LD_LIBRARY_PATH = libraryFolders(join(CHROMIUM_FOLDER, 'usr/lib')).join(delimiter);
  return { executablePath: unpacked, env: { ...process.env, LD_LIBRARY_PATH } };
}

/** Where Debian has libraries: in folders named after the machine, and after what they belong to. */
function libraryFolders(parent) {
  const machine = readdirSync(parent).find((name) => name.endsWith('-linux-gnu'));
  if (machine === undefined) return [];
  return [join(parent, machine), join(parent, machine, 'pulseaudio')];
}

/** The path of grpcurl, on PATH or installed by us; undefined where there is none. */
export function findGrpcurl() {
  return findProgram('grpcurl', GRPCURL_FOLDER);
}
