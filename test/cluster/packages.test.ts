import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { CLUSTER_PACKAGES } from '../../src/config/cluster-packages.js';
import { expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { packagesToInstall, serviceWithout } from '../support/without-packages.js';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));
const CLUSTER = { CLUSTER_URL: 'nats://127.0.0.1:4222' };

let service: ReturnType<typeof serviceWithout>;

beforeAll(() => {
  service = serviceWithout('@nats-io');
});

test('a cluster without the packages refuses the start, and says how to install them', async () => {
  const { environment } = ownFolder();
  const vectord = new Vectord({ ...environment, ...CLUSTER }, [], service.launch);
  const output = await expectRefusal(vectord, 1, 'CLUSTER_URL is set', '`npm ci` does it');
  expect(packagesToInstall(output)).toEqual(
    Object.entries(CLUSTER_PACKAGES).map(([name, version]) => `${name}@${version}`),
  );
});

test('the status of a cluster without them says how to install them, too', async () => {
  const status = new Vectord(CLUSTER, ['cluster', 'status'], service.launch);
  expect(await status.exit).toEqual({ code: 1, signal: null });
  expect(packagesToInstall(status.stderr)).toHaveLength(Object.keys(CLUSTER_PACKAGES).length);
});

test('a single server loads nothing of a cluster, on no loop', async () => {
  rmSync(join(service.folder, 'dist/cluster'), { recursive: true });
  const vectord = await Vectord.start(ownFolder().environment, service.launch);
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('the versions that it names are those that the tests run with', () => {
  const { devDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(PACKAGE, 'utf8'),
  );
  const ours = Object.keys(devDependencies).filter((name) => name.startsWith('@nats-io/'));
  expect(Object.keys(CLUSTER_PACKAGES).toSorted()).toEqual(ours.toSorted());
  for (const [name, version] of Object.entries(CLUSTER_PACKAGES)) {
    expect(devDependencies[name]).toMatch(new RegExp(`^\\^${version}\\.`));
    expect(peerDependencies[name]).toBe(devDependencies[name]);
    expect(peerDependenciesMeta[name]).toEqual({ optional: true });
  }
});
