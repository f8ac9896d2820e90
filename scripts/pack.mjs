// Makes the packages that release.yml publishes, as tarballs: one for each platform whose addon is in
// native/, and vectord itself, which has no addon but names the packages of all platforms as optional
// dependencies. Only the manifest of the tarball names them: in a clone npm would look for versions
// that are not published yet.
//
// Usage: npm run pack -- [--all] FOLDER
//
// With --all it fails if the addon of a platform is missing.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { positionals, values } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined || positionals.length > 1) {
  console.error('Usage: npm run pack -- [--all] FOLDER');
  process.exit(2);
}
const target = resolve(folder);
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const stage = mkdtempSync(join(tmpdir(), 'vectord-pack-'));
try {
  const platforms = makePlatforms(join(stage, 'platforms'));
  makeRoot(join(stage, 'root'), platforms);
  const ready = platforms.filter(({ isReady }) => isReady);
  const missing = platforms.filter(({ isReady }) => !isReady).map(({ name }) => name);
  if (values.all && missing.length > 0) throw new Error(`no addon for ${missing.join(', ')}`);
  mkdirSync(target, { recursive: true });
  const folders = [...ready.map((platform) => platform.folder), join(stage, 'root')];
  run('npm', ['pack', '--loglevel', 'error', '--pack-destination', target, ...folders]);
} finally {
  rmSync(stage, { recursive: true });
}

/** The package of each platform, in a folder of its own, with its addon where native/ has it. */
function makePlatforms(parent) {
  mkdirSync(parent);
  copyFileSync('package.json', join(parent, 'package.json'));
  run('node_modules/.bin/napi', ['create-npm-dirs', '--cwd', parent, '--npm-dir', 'npm']);
  return readdirSync(join(parent, 'npm')).map((entry) => {
    const own = join(parent, 'npm', entry);
    const platform = readManifest(own);
    const addon = join('native', platform.main);
    const isReady = existsSync(addon);
    if (isReady) copyFileSync(addon, join(own, platform.main));
    copyFileSync('LICENSE', join(own, 'LICENSE'));
    writeManifest(own, platform);
    return { name: platform.name, folder: own, isReady };
  });
}

function makeRoot(own, platforms) {
  mkdirSync(join(own, 'native'), { recursive: true });
  // Compiled anew: dist/ may hold modules whose source is gone. Maps lead to sources that stay here.
  for (const project of ['tsconfig.build.json', 'tsconfig.types.json']) {
    const options = ['--project', project, '--outDir', join(own, 'dist'), '--sourceMap', 'false'];
    run('node_modules/.bin/tsc', options);
  }
  run('node', ['scripts/console.mjs', join(own, 'dist/console')]);
  const published = readManifest('.');
  const texts = published.files.filter((path) => /^(?:deploy|docs)\b/.test(path));
  for (const path of ['native/index.cjs', 'proto', ...texts, 'README.md', 'LICENSE']) {
    cpSync(path, join(own, path), { recursive: true });
  }
  for (const key of ['scripts', 'devDependencies', 'overrides', 'napi']) delete published[key];
  const dependencies = platforms.map(({ name }) => [name, published.version]);
  published.optionalDependencies = Object.fromEntries(dependencies);
  writeManifest(own, published);
}

function readManifest(own) {
  return JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
}

/** npm shows which commit a package was built from only if its manifest names the repository. */
function writeManifest(own, manifest) {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  if (GITHUB_REPOSITORY !== undefined) {
    const url = `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`;
    manifest.repository = { type: 'git', url };
  }
  writeFileSync(join(own, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function run(command, args) {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}
