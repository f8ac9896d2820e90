import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { TRACE_PACKAGES } from '../../src/observe/traces/open.js';
import { ownFolder, Vectord, type Launch } from '../support/vectord.js';
import { packagesToInstall, serviceWithout } from '../support/without-packages.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let launch: Launch;

beforeAll(() => {
  ({ launch } = serviceWithout('@opentelemetry'));
});

test('without a collector nothing of OpenTelemetry is loaded, on no loop', async () => {
  const vectord = await Vectord.start(ownFolder().environment, launch);
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('a collector without the packages refuses the start, and says how to install them', async () => {
  const { environment } = ownFolder();
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const vectord = new Vectord({ ...environment, ...endpoint }, [], launch);
  expect(await vectord.exit).toEqual({ code: 1, signal: null });
  expect(packagesToInstall(vectord.stderr)).toEqual(
    Object.entries(TRACE_PACKAGES).map(([name, version]) => `${name}@${version}`),
  );
  expect(vectord.stderr).toContain('OTEL_EXPORTER_OTLP_ENDPOINT is set');
  expect(vectord.stderr).toContain('in a clone `npm ci` does it');
});

test('the page about traces has the same line', () => {
  const packages = Object.entries(TRACE_PACKAGES).map(([name, version]) => `${name}@${version}`);
  const page = readFileSync(join(ROOT, 'docs/OBSERVABILITY.md'), 'utf8');
  expect(page).toContain(`\nnpm install ${packages.join(' ')}\n`);
});

test('the versions that it names are those that the tests run with', () => {
  const { devDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  for (const [name, version] of Object.entries(TRACE_PACKAGES)) {
    expect(devDependencies[name]).toMatch(new RegExp(`^[~^]${version.replace('.', '\\.')}\\.`));
    expect(peerDependencies[name]).toBe('*');
    expect(peerDependenciesMeta[name]).toEqual({ optional: true });
  }
});
