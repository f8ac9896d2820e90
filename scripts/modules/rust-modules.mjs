// The modules of a Rust crate and what each uses of the others, read from its source. What only
// tests use does not count. Not seen: calls of methods, since they name no module, and what a macro
// writes. A module whose file is named by `#[path]` is refused.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Reads the crate below `folder`. Answers the files by the path of their module (`index::search`,
 * '' for the crate itself), each with the set of files that it uses. A file that only exports what
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
  if (/#\[\s*path\b/.test(source))
    throw new Error(`#[path] in ${name || 'the crate'} is not followed`);
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
  modules.set(name, {
    name,
    file,
    imports,
    items: itemsOf(code),
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

/** The names that a module defines, without those inside its functions, traits and `impl` blocks. */
function itemsOf(code) {
  let depth = 0;
  const outside = code.replaceAll(/[{}]|[^{}]+/g, (part) => {
    if (part === '{') depth += 1;
    if (part === '}') depth -= 1;
    return depth === 0 || part === '{' ? part : '';
  });
  const kinds = ['fn', 'struct', 'enum', 'union', 'trait', 'type', 'mod', 'macro_rules!'];
  const values = String.raw`(?<![<,'*]\s*)(?:const|static(?:\s+mut)?)(?=\s+\w+\s*:)`;
  const item = new RegExp(String.raw`\b(?:${kinds.join('|')}|${values})\s+(\w+)`, 'g');
  return new Set(Array.from(outside.matchAll(item), ([, name]) => name));
}

/** Cuts out what is compiled for tests alone, and answers the names of the modules among it. */
function withoutTests(text) {
  const tests = [];
  let source = text;
  let from = 0;
  for (;;) {
    const start = source.slice(from).search(/#!?\[\s*cfg\s*\(/);
    if (start < 0) return { source, tests };
    const index = from + start;
    const end = source.indexOf(']', index) + 1;
    const [, mark, condition] = /#(!?)\[\s*cfg\s*\(([^]*)\)\s*\]/.exec(source.slice(index, end));
    from = index + 1;
    if (!needsTest(condition)) continue;
    if (mark === '!') return { source: '', tests: [''] };
    const after = source.slice(end);
    const length = lengthOfItem(after);
    const module = /^(?:\s*#\[[^\]]*\])*[^{;]*?\bmod\s+(\w+)\s*;/.exec(after.slice(0, length));
    if (module !== null) tests.push(module[1]);
    source = source.slice(0, index) + after.slice(length);
    from = index;
  }
}

/** Whether a condition of `cfg` holds in tests alone. */
function needsTest(condition) {
  const [, operator, inside] = /^\s*(?:(\w+)\s*\(([^]*)\))?/.exec(condition);
  if (operator === undefined) return condition.trim() === 'test';
  const conditions = split(inside);
  if (operator === 'all') return conditions.some(needsTest);
  return operator === 'any' && conditions.length > 0 && conditions.every(needsTest);
}

/**
 * The length of the item, field, variant, arm or statement that `text` begins with, its attributes
 * included.
 */
function lengthOfItem(text) {
  const item =
    /^(?:\s*#\[[^\]]*\])*\s*(?:pub\b(?:\s*\([^)]*\))?\s*)?(?:fn|struct|enum|union|trait|type|mod|use|impl|const|static|unsafe|async|extern|let|macro_rules!)\s/;
  const ends = item.test(text) ? /[;}]/ : /[;},]/;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (/[{([]/.test(text[at])) depth += 1;
    if (/[})\]]/.test(text[at])) depth -= 1;
    if (depth < 0) return at;
    if (depth === 0 && ends.test(text[at])) return at + 1;
  }
  return text.length;
}

/** The parts of a list, of which each may hold lists in braces or brackets. */
function split(list) {
  const found = [''];
  let depth = 0;
  for (const letter of list) {
    if (/[{(]/.test(letter)) depth += 1;
    if (/[})]/.test(letter)) depth -= 1;
    if (letter === ',' && depth === 0) found.push('');
    else found[found.length - 1] += letter;
  }
  return found.map((part) => part.trim()).filter((part) => part !== '');
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
