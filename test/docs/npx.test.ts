import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { packagesFolder } from '../support/packages.js';
import { Registry } from '../support/registry.js';
import {
  ANSWERS,
  CURL,
  here,
  interrupt,
  paste,
  readme,
  RUN_TYPESCRIPT,
  startBy,
  TAKE_KEY,
  TYPESCRIPT,
} from './first-points.js';

let registry: Registry;

beforeAll(async () => {
  const packages = packagesFolder();
  registry = await Registry.start(packages);
}, 120_000);

afterAll(() => registry.close());

test(
  'what the README says of published packages holds for ours, in an empty folder',
  { timeout: 180_000 },
  async () => {
    const home = makeTemporaryFolder();
    const folder = join(home, 'empty');
    mkdirSync(folder);
    const env = {
      HOME: home,
      PATH: process.env['PATH'] ?? '',
      LOOPS: '1',
      npm_config_registry: registry.url,
      npm_config_cache: join(home, 'cache'),
      npm_config_update_notifier: 'false',
    };
    const published = /^.*Once it is published, `(.*npx vectord)`.* `(npm install vectord)`/m;
    const [, start = '', install = ''] = published.exec(readme().text) ?? [];

    const service = await startBy(start, { cwd: folder, env }, 120_000);
    onTestFinished(() => interrupt(service));
    writeFileSync(join(folder, 'first.mjs'), here(service, TYPESCRIPT));
    const code = [TAKE_KEY, CURL, `${install} --no-audit --no-fund\n`, RUN_TYPESCRIPT];
    const pasted = await paste({ cwd: folder, env, service }, ...code);
    expect(pasted.code, pasted.stderr).toBe(0);
    expect(pasted.stdout).toMatch(ANSWERS.curl);
    expect(pasted.stdout).toContain(ANSWERS.typescript);
  },
);
