import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { PYTHON_CLIENT_PYTHON, TYPEDOC } from '../support/tools.mjs';

const TIMEOUT_MS = 300_000;

test.skipIf(!existsSync(TYPEDOC) || !existsSync(PYTHON_CLIENT_PYTHON))(
  'the references of the clients are made, with every public name documented',
  async () => {
    const folder = makeTemporaryFolder();
    const args = ['scripts/sdk-reference/main.mjs', folder];
    const { code, stdout, stderr } = await run(process.execPath, args);
    expect(code, stdout + stderr).toBe(0);
    const modules = ['vectord', 'vectord_embedded', 'vectord_langchain'];
    for (const page of [
      ...modules.map((name) => `typescript/modules/${name}.html`),
      'typescript/functions/vectord.idFor.html',
      'python/vectord_client.html',
      'python/vectord_client/langchain.html',
    ]) {
      expect(existsSync(join(folder, page)), page).toBe(true);
    }
    const python = readFileSync(join(folder, 'python/vectord_client.html'), 'utf8');
    expect(python).toContain('id_for');
    // Docstrings of what another module defines are there, too.
    expect(python).toMatch(/What stands in a <code>.*PointUpdate.*<\/code> for a part/);
  },
  TIMEOUT_MS,
);
