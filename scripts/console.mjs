// Builds the console, the web page at /console, from src/console: one page, one script and one style
// sheet, and the licenses of the packages whose code is in the script.
//
// Usage: node scripts/console.mjs [FOLDER]    FOLDER is dist/console unless told otherwise
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const target = resolve(
  process.argv[2] ?? fileURLToPath(new URL('../dist/console', import.meta.url)),
);
process.chdir(fileURLToPath(new URL('..', import.meta.url)));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const { metafile } = await build({
  entryPoints: [
    { in: 'src/console/page/main.tsx', out: 'console' },
    { in: 'src/console/page/console.css', out: 'console' },
  ],
  outdir: target,
  bundle: true,
  minify: true,
  metafile: true,
  format: 'esm',
  target: ['es2022'],
  tsconfig: 'tsconfig.console.json',
  logLevel: 'warning',
});
copyFileSync('src/console/page/index.html', join(target, 'index.html'));
writeFileSync(join(target, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)));

/** The licenses of the packages that some of these files belong to. */
function licensesOf(files) {
  const packages = files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const names = [...new Set(packages)].filter((name) => name !== undefined).toSorted();
  return names.map((name) => `${name}\n\n${licenseOf(join('node_modules', name))}`).join('\n\n');
}

function licenseOf(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(?:\.|$)/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no file with its license`);
  return readFileSync(join(folder, file), 'utf8');
}
