// The modules of a Rust crate and what each uses of the others, read from its source. What only
// tests use does not count. Not seen: calls of methods, since they name no module, and what a macro
// writes.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Reads the crate below `folder`. Answers the files by the path of their module (`index::search`,
 * '' for the crate itself), each with the set of those that it uses. A file that only exports what
 * is inside it does not use it.
 */
export function readCrate(folder) {
  const modules = new Map();
  for (const file of rustFiles(folder)) {
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
  return file.replace(/(^|\/)(mod|lib)\.rs$|\.rs$/, '').replaceAll('/', '::');
}

function addModule(modules, name, text, file = name) {
  const { source, tests } = withoutTests(withoutWords(text));
  const imports = [];
  const rest = source.replaceAll(
    /\b(pub(?:\s*\([^)]*\))?\s+)?use\s+([^;]+);/g,
    (_, visibility, tree) => {
      for (const path of branches(tree.replaceAll(/\s+/g, ' '))) {
        imports.push({ ...renamed(path), isExport: visibility !== undefined });
      }
      return '';
    },
  );
  const code = withoutInlineModules(rest, (inner, body) => {
    addModule(modules, joined(name, inner), body, file);
  });
  const items = code.matchAll(
    /\b(?:fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(\w+)/g,
  );
  modules.set(name, {
    name,
    file,
    imports,
    items: new Set(Array.from(items, ([, item]) => item)),
    names: new Set(code.match(/\b\w+\b/g)),
    paths: Array.from(code.matchAll(/\b\w+(?:\s*::\s*\w+)+/g), ([path]) => parts(path)),
    tests,
  });
}

/** Cuts out comments, and what stands in strings and characters. */
function withoutWords(text) {
  const words =
    /\/\/[^\n]*|\/\*[^]*?\*\/|\b[bc]?r(#*)"[^]*?"\1|"(?:[^"\\]|\\[^])*"|'(?:[^'\\\n]|\\[^'\n]+|\\')'/g;
  return text.replaceAll(words, (word) => (word.startsWith('/') ? ' ' : '""'));
}

/** Cuts out what is compiled for tests alone, and answers the names of the modules among it. */
function withoutTests(text) {
  const tests = [];
  let source = text;
  for (;;) {
    const found = /#!?\[cfg\((?:test|all\([^\]]*\btest\b[^\]]*\))\)\]/.exec(source);
    if (found === null) return { source, tests };
    if (found[0].startsWith('#!')) return { source: '', tests: [''] };
    const after = source.slice(found.index + found[0].length);
    const length = lengthOfItem(after);
    const module = /^(?:\s*#\[[^\]]*\])*[^{;]*?\bmod\s+(\w+)\s*;/.exec(after.slice(0, length));
    if (module !== null) tests.push(module[1]);
    source = source.slice(0, found.index) + after.slice(length);
  }
}

function lengthOfItem(text) {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth < 0) return at;
    if (depth === 0 && /[;}]/.test(text[at])) return at + 1;
  }
  return text.length;
}

/** Hands on the modules that are written in the file of another, and cuts them out. */
function withoutInlineModules(text, add) {
  let source = text;
  for (;;) {
    const found = /\bmod\s+(\w+)\s*\{/.exec(source);
    if (found === null) return source;
    const length = lengthOfItem(source.slice(found.index));
    const whole = source.slice(found.index, found.index + length);
    add(found[1], whole.slice(whole.indexOf('{') + 1, -1));
    source = source.slice(0, found.index) + source.slice(found.index + length);
  }
}

/** The paths of a tree of imports. */
function branches(tree) {
  const open = tree.indexOf('{');
  if (open < 0) return [tree.trim()];
  const found = [''];
  let depth = 0;
  for (const letter of tree.slice(open + 1, tree.lastIndexOf('}'))) {
    if (letter === '{') depth += 1;
    if (letter === '}') depth -= 1;
    if (letter === ',' && depth === 0) found.push('');
    else found[found.length - 1] += letter;
  }
  const prefix = tree.slice(0, open).trim();
  return found
    .filter((part) => part.trim() !== '')
    .flatMap((part) => branches(part.trim()).map((branch) => prefix + branch));
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
  for (const module of modules.values()) {
    const used = [
      ...module.imports
        .filter((one) => !one.isExport || isUsedHere(modules, module, one))
        .flatMap(({ path, name }) =>
          name === '*' ? ownersOfAll(modules, module, path) : [ownerOf(modules, module, path)],
        ),
      ...module.paths.map((path) => ownerOf(modules, module, path)),
    ];
    for (const owner of used) {
      if (owner !== undefined && owner.file !== module.file) {
        files.get(module.file).add(owner.file);
      }
    }
  }
  return files;
}

/** Whether an export is more than that: of something not inside the module, or used in it, too. */
function isUsedHere(modules, module, { path, name }) {
  const target = targetOf(modules, module, path.at(-1) === '*' ? path.slice(0, -1) : path);
  if (target === undefined) return false;
  const isInside = module.name === '' || joined(...target).startsWith(`${module.name}::`);
  if (!isInside || module.names.has(name)) return true;
  if (name !== '*') return false;
  return [...exportsOf(modules, target)].some((item) => module.names.has(item));
}

function exportsOf(modules, target, seen = new Set()) {
  const module = modules.get(joined(...target));
  if (module === undefined || seen.has(module)) return new Set();
  seen.add(module);
  const again = module.imports.flatMap(({ path, name }) =>
    name === '*'
      ? [...exportsOf(modules, targetOf(modules, module, path.slice(0, -1)) ?? [], seen)]
      : [name],
  );
  return new Set([...module.items, ...again]);
}

/** The modules that define what a glob brings in. */
function ownersOfAll(modules, module, path) {
  const target = targetOf(modules, module, path.slice(0, -1));
  if (target === undefined) return [];
  return Array.from(exportsOf(modules, target))
    .filter((item) => module.names.has(item))
    .map((item) => find(modules, [...target, item]));
}

/** The module in which what a path names is written, wherever it is exported again. */
function ownerOf(modules, module, path) {
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
  const item = target[length];
  if (item === undefined || owner === undefined || owner.items.has(item)) return owner;
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
    if (found?.items.has(name === '*' ? item : path.at(-1))) return found;
    if (name !== '*') return found;
  }
  return undefined;
}
