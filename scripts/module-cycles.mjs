// Fails if modules of a Rust crate depend on each other in a circle, or a layer on one above it.
// A module and those inside it count as one: they share what is private to it. What only tests use
// does not count.
//
// Usage: node scripts/module-cycles.mjs
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';

const SOURCE = 'crates/engine/src';

/** From the top down; those of one line do not know each other. */
const LAYERS = [
  ['engine'],
  ['index'],
  ['hnsw', 'store'],
  ['vectors'],
  ['sync'],
  ['error', 'metric'],
];

const modules = new Map(sourceFiles(SOURCE).map((file) => [nameOf(file), usesOf(file)]));
const dependencies = new Map([...modules.keys()].map((name) => [name, dependenciesOf(name)]));
const faults = [...circles(), ...climbs()];
for (const fault of faults) console.error(fault);
console.log(`${modules.size} modules, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;

function sourceFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'tests' ? [] : sourceFiles(path);
    return entry.name.endsWith('.rs') ? [path] : [];
  });
}

/** The path of a module: `index::search::plan`, or nothing for the crate itself. */
function nameOf(file) {
  return relative(SOURCE, file)
    .replace(/(^|\/)(mod|lib)?\.rs$|\.rs$/, '')
    .replaceAll('/', '::');
}

/** What a file names of other modules: the paths that it imports, and those that it exports again. */
function usesOf(file) {
  const source = withoutTests(readFileSync(file, 'utf8').replaceAll(/\/\/.*$/gm, ''));
  const imports = [];
  const rest = source.replaceAll(/(pub(?:\([^)]*\))? +)?\buse\s+([^;]+);/g, (_, pub, tree) => {
    for (const path of branches(tree.replaceAll(/\s+/g, ' '))) {
      const [from, as = from.split('::').at(-1)] = path.replace('::self', '').split(' as ');
      imports.push({ path: from, name: as, isExport: pub !== undefined });
    }
    return '';
  });
  const inline = rest.matchAll(/\b(?:crate|super)(?:::\w+)+/g);
  return [...imports, ...Array.from(inline, ([path]) => ({ path, name: '', isExport: false }))];
}

/** Cuts out what is compiled for tests alone. */
function withoutTests(source) {
  const parts = source.split(/#\[cfg\(test\)\]/);
  return parts[0] + parts.slice(1).map(behindItem).join('');
}

function behindItem(text) {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0 && /[;}]/.test(text[at])) return text.slice(at + 1);
  }
  return '';
}

/** The paths of a tree of imports. */
function branches(tree) {
  const open = tree.indexOf('{');
  if (open < 0) return [tree.trim()];
  const parts = [''];
  let depth = 0;
  for (const letter of tree.slice(open + 1, tree.lastIndexOf('}'))) {
    if (letter === '{') depth += 1;
    if (letter === '}') depth -= 1;
    if (letter === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  const prefix = tree.slice(0, open).trim();
  return parts
    .filter((part) => part.trim() !== '')
    .flatMap((part) => branches(part.trim()).map((branch) => prefix + branch));
}

function dependenciesOf(name) {
  const uses = modules.get(name).filter(({ isExport }) => !isExport);
  const found = uses.map(({ path }) => absolute(name, path)).filter((path) => path !== undefined);
  const owners = found.map((path) => ownerOf(path));
  return [...new Set(owners)].filter((other) => !isInside(name, other) && !isInside(other, name));
}

/** A path from the root of the crate; nothing for one of another crate. */
function absolute(name, path) {
  const parts = path.split('::');
  const here = name === '' ? [] : name.split('::');
  if (parts[0] === 'crate') return parts.slice(1);
  if (parts[0] === 'self') return [...here, ...parts.slice(1)];
  const up = parts.findIndex((part) => part !== 'super');
  if (up > 0) return [...here.slice(0, -up), ...parts.slice(up)];
  return modules.has([...here, parts[0]].join('::')) ? [...here, ...parts] : undefined;
}

/** The module in which what a path names is written, wherever it is exported again. */
function ownerOf(path, seen = new Set()) {
  let length = path.length;
  while (!modules.has(path.slice(0, length).join('::'))) length -= 1;
  const owner = path.slice(0, length).join('::');
  const again = modules.get(owner).find(({ name }) => name === path[length]);
  const target = again && absolute(owner, again.path);
  if (target === undefined || seen.has(target.join())) return owner;
  return ownerOf(target, seen.add(target.join()));
}

function isInside(name, folder) {
  return folder === '' || name === folder || name.startsWith(`${folder}::`);
}

/** Each pair of modules of which each leads to the other. */
function circles() {
  const reach = new Map([...dependencies.keys()].map((name) => [name, reachable(name)]));
  return [...dependencies].flatMap(([from, others]) =>
    others
      .filter((to) => reach.get(to).has(from))
      .map((to) => `${from} depends on ${to}, which leads back to it`),
  );
}

function reachable(name, seen = new Set()) {
  for (const next of dependencies.get(name) ?? []) {
    if (seen.has(next)) continue;
    seen.add(next);
    reachable(next, seen);
  }
  return seen;
}

function heightOf(name) {
  return LAYERS.findIndex((layer) => layer.includes(name.split('::')[0]));
}

function climbs() {
  return [...dependencies].flatMap(([from, others]) =>
    others
      .filter((to) => from !== '' && from.split('::')[0] !== to.split('::')[0])
      .filter((to) => heightOf(to) <= heightOf(from))
      .map((to) => `${from} depends on ${to}, which is no layer below it`),
  );
}
