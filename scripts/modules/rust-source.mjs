// The source of a Rust module, cut down to what names other modules.

/** Cuts out comments, and what stands in strings and characters. */
export function withoutWords(text) {
  const word =
    /\/\/[^\n]*|\/\*|\b[bc]?r(#*)"[^]*?"\1|"(?:[^"\\]|\\[^])*"|'(?:[^'\\\n]|\\[^'\n]+|\\')'/g;
  let source = '';
  let from = 0;
  for (let found = word.exec(text); found !== null; found = word.exec(text)) {
    source += text.slice(from, found.index) + (found[0].startsWith('/') ? ' ' : '""');
    if (found[0] === '/*') word.lastIndex = endOfComment(text, found.index);
    from = word.lastIndex;
  }
  return source + text.slice(from);
}

/** Where a comment ends, which may hold others. */
function endOfComment(text, start) {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  let depth = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}

/** What would take a module from elsewhere, or give an item a name that is not followed here. */
const NOT_FOLLOWED = {
  '#[path]': /#\s*!?\s*\[\s*(?:path\b|cfg_attr\b[^\]]*[,(]\s*path\s*=)/,
  'extern crate self': /\bextern\s+crate\s+self\b/,
  'include!': /\binclude\s*!/,
  'a raw name': /\br#\w/,
};

/** Refuses a source, without comments and strings, that holds what is not followed. */
export function refuseNotFollowed(source, name) {
  for (const [what, pattern] of Object.entries(NOT_FOLLOWED)) {
    if (pattern.test(source)) throw new Error(`${what} in ${name || 'the crate'} is not followed`);
  }
}

/** The names that a module defines, without those inside its functions, traits and `impl` blocks. */
export function itemsOf(code) {
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
export function withoutTests(text) {
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
export function lengthOfItem(text) {
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
export function split(list) {
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
export function withoutInlineModules(text, add) {
  let source = text;
  for (;;) {
    const found = /(?:\bpub(?:\s*\([^)]*\))?\s+)?\bmod\s+(\w+)\s*\{/.exec(source);
    if (found === null) return source;
    const length = lengthOfItem(source.slice(found.index));
    const whole = source.slice(found.index, found.index + length);
    add(found[1], whole.slice(whole.indexOf('{') + 1, -1));
    source = source.slice(0, found.index) + source.slice(found.index + length);
  }
}
