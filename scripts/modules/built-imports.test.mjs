import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

// Type checks do not reach a script that imports what is built, and no test runs each of them.
const scripts = ['test', 'bench']
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.mjs') && namesIn(file).length > 0);

test('the scripts that import from dist/ are found', () => {
  expect(scripts).toContain('test/support/nice-grpc/server.mjs');
});

test.each(scripts)('%s imports from dist/ only names that are exported there', async (script) => {
  for (const { names, path } of namesIn(script)) {
    const module = await import(pathToFileURL(resolve(script, '..', path)).href);
    expect(Object.keys(module)).toEqual(expect.arrayContaining(names));
  }
});

/** The names that a script imports of each module below dist/, statically or after `await import`. */
function namesIn(script) {
  const imports = /(?:import|const) \{([^}]+)\} (?:from|= await import\() ?'([./]+\/dist\/[^']+)'/g;
  return Array.from(readFileSync(script, 'utf8').matchAll(imports), ([, list, path]) => ({
    names: list
      .split(',')
      .map((name) => name.trim().split(/ as |: /)[0])
      .filter((name) => name !== ''),
    path,
  }));
}
