// The `impl` blocks of a Rust module: which methods they define, and which of their own they call.
import { itemsOf } from './rust-source.mjs';

/**
 * The blocks in the code of a module. Of each: the `type` as it is named there, whether it is
 * `inherent` and not of a trait, the names of its `items`, and the names that it `calls` of itself,
 * by `self.name(` or `Self::name`.
 */
export function implsOf(code) {
  const found = [];
  for (const { index, 0: start } of code.matchAll(/(?<=^|[;}\]])\s*(?:unsafe\s+)?impl\b/g)) {
    const head = index + start.length;
    const open = code.indexOf('{', head);
    if (open < 0) break;
    const { type, inherent } = typeOf(code.slice(head, open));
    if (type === undefined) continue;
    const body = code.slice(open + 1, endOfBlock(code, open));
    found.push({ type, inherent, items: itemsOf(body), calls: callsOf(body) });
  }
  return found;
}

/** The type that the head of a block names, behind `impl`; none for a reference and the like. */
function typeOf(head) {
  const bounded = head.slice(lengthOfGenerics(head)).split(/\bwhere\b/)[0];
  const [last, ...traits] = bounded.split(/\bfor\s+(?!<)/).toReversed();
  const type = /^\s*(\w+(?:\s*::\s*\w+)*)/.exec(last)?.[1];
  return { type, inherent: traits.length === 0 };
}

/** The length of the list of parameters that a text begins with, if it does. */
function lengthOfGenerics(text) {
  if (!/^\s*</.test(text)) return 0;
  let depth = 0;
  for (const { index, 0: mark } of text.matchAll(/->|[<>]/g)) {
    if (mark === '<') depth += 1;
    if (mark === '>') depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

function endOfBlock(code, open) {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === '{') depth += 1;
    if (code[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}

function callsOf(body) {
  const calls = /\bself\s*\.\s*(\w+)\s*(?:::\s*<[^()]*>\s*)?\(|\bSelf\s*::\s*(\w+)/g;
  return new Set(Array.from(body.matchAll(calls), ([, method, item]) => method ?? item));
}
