import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/config/settings.js';
import { ROOT } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { findProgram, HADOLINT } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';

const systemdAnalyze = findProgram('systemd-analyze');
const docker = findProgram('docker');
const hasCompose = docker !== undefined && spawnSync(docker, ['compose', 'version']).status === 0;

const settings: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

test.skipIf(systemdAnalyze === undefined)('systemd takes the unit without a word', () => {
  // It looks for the command, which is not installed here.
  const unit = read('vectord.service').replace('/usr/local/bin/vectord', process.execPath);
  const path = join(makeTemporaryFolder(), 'vectord.service');
  writeFileSync(path, unit);
  const { status, stdout, stderr } = spawnSync(systemdAnalyze ?? '', ['verify', path], {
    encoding: 'utf8',
  });
  const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('vectord'));
  expect({ status, about }).toEqual({ status: 0, about: [] });
});

test.skipIf(!existsSync(HADOLINT))('hadolint finds nothing in the Dockerfile', () => {
  const output = execFileSync(HADOLINT, ['--no-fail', '--format', 'json', deployed('Dockerfile')]);
  expect(JSON.parse(output.toString())).toEqual([]);
});

test(
  'the builder of the image is sent all that the service needs',
  { timeout: 180_000 },
  async () => {
    const folder = makeTemporaryFolder();
    for (const path of sentPaths())
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    // In place of `npm ci` and of its last step, which compiles the engine for minutes. npm 10 takes that
    // step in `npm pack`, too.
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    cpSync(join(ROOT, 'native'), join(folder, 'native'), { recursive: true });
    const [, pack = ''] = /^RUN npm ci && (.*)$/m.exec(read('Dockerfile')) ?? [];
    const commands = `npm run build:ts && npm pkg delete scripts.prepare && ${pack}`;
    execFileSync('sh', ['-ec', commands], { cwd: folder, stdio: 'pipe' });
    const metadata = ['metadata', '--locked', '--offline', '--format-version=1', '--no-deps'];
    execFileSync('cargo', metadata, { cwd: folder, stdio: 'pipe' });

    const installed = join(folder, 'package');
    symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
    const command = [process.execPath, join(installed, 'dist/main.js')];
    const vectord = await Vectord.start(ownFolder().environment, { command });
    expect((await fetch(`${vectord.value('HTTP')}/docs/openapi.yaml`)).status).toBe(200);
  },
);

test.skipIf(!hasCompose)('docker compose takes its file', () => {
  const args = ['compose', '--file', deployed('compose.yaml'), 'config', '--quiet'];
  expect(spawnSync(docker ?? '', args, { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
});

test('all of them set only what is a setting, to what it takes', () => {
  const given = [...unitSettings(), ...imageSettings(), ...composeSettings(), ...podSettings()];
  expect(given.length).toBeGreaterThan(5);
  const known = Object.values(SETTINGS);
  const wrong = given.filter(
    ([name, value]) => known.find((one) => one.name === name)?.parse(value) === undefined,
  );
  expect(wrong).toEqual([]);
  expect(settings).toContain('DATA_PATH');
});

test('the probes of Kubernetes ask ports that the container has, by paths that answer there', () => {
  const { containers } = stateful().spec.template.spec;
  const [{ ports, livenessProbe, readinessProbe, startupProbe }] = containers;
  const names = ports.map(({ name }: { name: string }) => name);
  const probes = [livenessProbe, readinessProbe, startupProbe].map(({ httpGet }) => httpGet);
  for (const { port } of probes) expect(names).toContain(port);
  expect(probes.map((probe) => probe.path)).toEqual(['/health', '/ready', '/health']);
});

type Given = readonly [name: string, value: string];

function unitSettings(): Given[] {
  const lines = read('vectord.service').matchAll(/^Environment=([A-Z_]+)=(.*)$/gm);
  return Array.from(lines, ([, name = '', value = '']) => [name, value]);
}

function imageSettings(): Given[] {
  const [, line = ''] = /^ENV (.*)$/m.exec(read('Dockerfile')) ?? [];
  return line.split(' ').map((pair) => pair.split('=') as [string, string]);
}

function composeSettings(): Given[] {
  const { services } = parse(read('compose.yaml'));
  return Object.entries<string>(services.vectord.environment);
}

function podSettings(): Given[] {
  const [{ env }] = stateful().spec.template.spec.containers;
  return env.map(({ name, value }: { name: string; value: string }) => [name, value]);
}

function stateful() {
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((one) => one.toJS());
  return documents.find(({ kind }) => kind === 'StatefulSet');
}

/** What .dockerignore does not keep from the builder; it names that alone. */
function sentPaths(): string[] {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');
  const [all, ...sent] = lines.filter((line) => !line.startsWith('#'));
  expect(all).toBe('*');
  expect(sent.filter((line) => !/^![\w./-]+$/.test(line))).toEqual([]);
  return sent.map((line) => line.slice(1));
}

function read(name: string): string {
  return readFileSync(deployed(name), 'utf8');
}

function deployed(name: string): string {
  return join(ROOT, 'deploy', name);
}
