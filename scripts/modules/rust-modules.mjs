// The modules of a Rust crate and what each uses of the others, read from its source. What only
// tests use does not count. A method counts where a type calls its own (`self.name(`, `Self::name`),
// or where the type is named (`Type::name`). Not seen: methods of other values, since nothing names
// their type, and what a macro writes. Source that would hide a module is refused.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { implsOf } from './rust-impls.mjs';
import {
  itemsOf,
  refuseNotFollowed,
  split,
  withoutInlineModules,
  withoutTests,
  withoutWords,
} from './rust-source.mjs';

/**
 * Reads the crate below `folder`, without its folder `bin`, where every binary is a crate of its own.
 * Answers the files by the path of their module (`index::search`, '' for the crate itself), each with
 * the set of files that it uses. A file that only exports what is inside it does not use it.
 */
export function readCrate(folder) {
  const modules = new Map();
  const binaries = join(folder, 'bin');
  for (const file of rustFiles(folder).filter((path) => !path.startsWith(`${binaries}${sep}`))) {
    addModule(modules, moduleOf(relative(folder, file)), readFileSync(file, 'utf8'));
  }
  const forTests = [...modules.keys()].filter((name) => isForTests(modules, name));
  for (const name of forTests) modules.delete(name);
  return usesOfFiles(modules);
}

function rustFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return rustFiles(path);
    return entry.name.endsWith('.rs') ? [path] : [];
  });
}

function moduleOf(file) {
  return file.replace(/(^|\/)mod\.rs$|^(lib|main)\.rs$|\.rs$/, '').replaceAll('/', '::');
}

function addModule(modules, name, text, file = name) {
  const { source, tests } = withoutTests(withoutWords(text));
  refuseNotFollowed(source, name);
  const own = withoutInlineModules(source, (inner, body) => {
    addModule(modules, joined(name, inner), body, file);
  });
  const imports = [];
  const code = own.replaceAll(
    /\b(pub(?:\s*\([^)]*\))?\s+)?use\s+([^;]+);/g,
    (_, visibility, tree) => {
      for (const path of branches(tree.replaceAll(/\s+/g, ' '))) {
        imports.push({ ...renamed(path), isExport: visibility !== undefined });
      }
      return '';
    },
  );
  modules.set(name, {
    name,
    file,
    imports,
    items: itemsOf(code),
    names: new Set(code.match(/\b\w+\b/g)),
    paths: pathsOf(code),
    impls: implsOf(code),
    tests,
  });
}

function pathsOf(code) {
  const path = /\b\w+(?:\s*::\s*(?:<[^<>]*>\s*::\s*)?\w+)+/g;
  return Array.from(code.matchAll(path), ([found]) => parts(found.replaceAll(/<[^<>]*>/g, '')));
}

/** The paths of a tree of imports. */
function branches(tree) {
  const open = tree.indexOf('{');
  if (open < 0) return [tree.trim()];
  const prefix = tree.slice(0, open).trim();
  return split(tree.slice(open + 1, tree.lastIndexOf('}'))).flatMap((part) =>
    branches(part).map((branch) => prefix + branch),
  );
}

function renamed(branch) {
  const [from, as] = branch.split(' as ');
  const path = parts(from).filter((part, at) => part !== 'self' || at === 0);
  return { path, name: as?.trim() ?? path.at(-1) };
}

function parts(path) {
  return path
    .split('::')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function joined(...names) {
  return names.filter((name) => name !== '').join('::');
}

function isForTests(modules, name) {
  const path = name.split('::');
  return path.some((part, at) => {
    const parent = modules.get(path.slice(0, at).join('::'));
    const own = modules.get(path.slice(0, at + 1).join('::'));
    return parent?.tests.includes(part) === true || own?.tests.includes('') === true;
  });
}

function usesOfFiles(modules) {
  const files = new Map(Array.from(modules.values(), ({ file }) => [file, new Set()]));
  const methods = methodsOf(modules);
  for (const module of modules.values()) {
    const used = [
      ...module.imports.flatMap((one) => ownersOfImport(modules, module, one)),
      ...module.paths.flatMap((path) => ownersOfPath(modules, methods, module, path)),
      ...module.impls.flatMap((block) => ownersOfCalls(modules, methods, module, block)),
    ];
    for (const { file } of used) {
      if (file !== module.file) files.get(module.file).add(file);
    }
  }
  return files;
}

/** The modules that define the methods of each type, by the type and the method. */
function methodsOf(modules) {
  const methods = new Map();
  for (const module of modules.values()) {
    for (const { type, inherent, items } of module.impls) {
      const key = inherent ? keyOf(definitionOf(modules, module, parts(type))) : undefined;
      if (key === undefined) continue;
      for (const item of items) {
        const name = `${key}::${item}`;
        methods.set(name, [...(methods.get(name) ?? []), module]);
      }
    }
  }
  return methods;
}

/** Names a definition across the crate. */
function keyOf(definition) {
  return definition?.item && `${definition.owner.name}::${definition.item}`;
}

function ownersOfCalls(modules, methods, module, { type, calls }) {
  const key = keyOf(definitionOf(modules, module, parts(type)));
  return [...calls].flatMap((name) => methods.get(`${key}::${name}`) ?? []);
}

/** The modules that a path names: of a type or another item, and of its method. */
function ownersOfPath(modules, methods, module, path) {
  const found = definitionOf(modules, module, path);
  if (found === undefined) return [];
  return [found.owner, ...(methods.get(`${keyOf(found)}::${found.rest[0]}`) ?? [])];
}

/**
 * The modules that define what an import brings in. An export of what is inside the module counts
 * only where the module uses that, too.
 */
function ownersOfImport(modules, module, { path, name, isExport }) {
  const target = targetOf(modules, module, name === '*' ? path.slice(0, -1) : path);
  if (target === undefined) return [];
  const isInside = module.name === '' || joined(...target).startsWith(`${module.name}::`);
  const isForOthers = isExport && !isInside;
  // All of an enum is one with its name.
  const isOfModule = name === '*' && modules.has(joined(...target));
  const items = isOfModule ? exportsOf(modules, target, isForOthers) : [name];
  return [...items]
    .filter((item) => isForOthers || (!isOfModule && !isExport) || module.names.has(item))
    .map((item) => find(modules, isOfModule ? [...target, item] : target)?.owner)
    .filter((owner) => owner !== undefined);
}

/** The names that a module defines or brings in; `forOthers`, without what only it can name. */
function exportsOf(modules, target, forOthers, seen = new Set()) {
  const module = modules.get(joined(...target));
  if (module === undefined || seen.has(module)) return new Set();
  seen.add(module);
  const names = new Set(module.items);
  for (const { path, name, isExport } of module.imports) {
    if (forOthers && !isExport) continue;
    if (name !== '*') names.add(name);
    const from = name === '*' ? targetOf(modules, module, path.slice(0, -1)) : undefined;
    if (from === undefined) continue;
    for (const item of exportsOf(modules, from, forOthers, seen)) names.add(item);
  }
  return names;
}

/**
 * What a path names, wherever it is exported again: the module that it is written in (`owner`), the
 * `item` there, and the `rest` of the path behind it.
 */
function definitionOf(modules, module, path) {
  const target = targetOf(modules, module, path);
  return target === undefined ? undefined : find(modules, target);
}

/** A path from the root of the crate; nothing for one of another crate. */
function targetOf(modules, module, path, seen = new Set()) {
  const here = parts(module.name);
  if (path[0] === 'crate') return path.slice(1);
  if (path[0] === 'self') return [...here, ...path.slice(1)];
  if (path[0] === 'super') {
    const up = path.findIndex((part) => part !== 'super');
    const count = up < 0 ? path.length : up;
    return [...here.slice(0, here.length - count), ...path.slice(count)];
  }
  const again = module.imports.find(({ name }) => name === path[0]);
  if (again !== undefined && !seen.has(again)) {
    const target = targetOf(modules, module, again.path, seen.add(again));
    return target && [...target, ...path.slice(1)];
  }
  const isOwn = module.items.has(path[0]) || modules.has(joined(module.name, path[0]));
  return isOwn ? [...here, ...path] : undefined;
}

function find(modules, target, seen = new Set()) {
  let length = target.length;
  while (length > 0 && !modules.has(joined(...target.slice(0, length)))) length -= 1;
  const owner = modules.get(joined(...target.slice(0, length)));
  if (owner === undefined) return undefined;
  const [item, ...rest] = target.slice(length);
  if (item === undefined || owner.items.has(item)) return { owner, item, rest };
  const key = joined(...target);
  if (seen.has(key)) return undefined;
  seen.add(key);
  const named = owner.imports.find(({ name }) => name === item);
  const ways = named === undefined ? owner.imports.filter(({ name }) => name === '*') : [named];
  for (const { path, name } of ways) {
    const next = targetOf(modules, owner, name === '*' ? path.slice(0, -1) : path);
    if (next === undefined) continue;
    const tail = target.slice(name === '*' ? length : length + 1);
    const found = find(modules, [...next, ...tail], seen);
    if (name !== '*' || found?.owner.items.has(item)) return found;
  }
  return undefined;
}
