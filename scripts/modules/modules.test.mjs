import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { faultsOf } from './faults.mjs';
import { readCrate } from './rust-modules.mjs';

/** The uses of a crate of these files, as `from -> to`. */
function usesOf(files) {
  return [...crateOf(files)].flatMap(([from, others]) =>
    Array.from(others, (to) => `${from || 'crate'} -> ${to || 'crate'}`),
  );
}

function crateOf(files) {
  const folder = mkdtempSync(join(tmpdir(), 'modules-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return readCrate(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const LIB = 'mod a;\nmod b;\n';
const B = 'pub struct Thing;\npub enum Kind { One }\npub fn make() {}\n';

test.each([
  ['a path', 'use crate::b::Thing;'],
  ['a path from above', 'use super::b::Thing;'],
  ['a tree of paths', 'use crate::{\n    b::{self, Thing},\n};'],
  ['another name', 'use crate::b as other;\nfn f() { other::make() }'],
  ['a glob', 'use crate::b::*;\nfn f() { make() }'],
  ['a path in code', 'fn f() { crate::b::make() }'],
  ['a path from above in code', 'fn f() { super::b::make() }'],
  ['a path broken over lines', 'fn f() { crate\n    ::b\n    ::make() }'],
  ['a path from an imported module', 'use crate::b;\nfn f() { b::make() }'],
  ['a macro', 'macro_rules! m { () => { $crate::b::make() } }'],
  ['an export', 'pub use crate::b::Thing;'],
  ['code behind slashes in a string', 'const A: &str = "//"; use crate::b::Thing;'],
  ['code behind a quote in a character', "const A: char = '\"'; use crate::b::Thing;"],
  ['code behind a raw string', 'const A: &str = r#"" // "#; use crate::b::Thing;'],
  ['code behind a lifetime', "fn f<'a>(a: &'a str) {} use crate::b::Thing;"],
  ['code behind a test', '#[cfg(test)]\nmod t { fn f() {} }\nuse crate::b::Thing;'],
  ['a module in the same file', 'mod inner { use super::super::b::Thing; }'],
  ['a feature or a test', '#[cfg(any(test, feature = "x"))]\nuse crate::b::Thing;'],
  ['what tests leave out', '#[cfg(all(not(test), unix))]\nuse crate::b::Thing;'],
  ['a feature beside a test', '#[cfg(all(unix, any(test, miri)))]\nuse crate::b::Thing;'],
  ['a field behind one for tests', 'struct A { #[cfg(test)]\nx: u8, y: crate::b::Thing }'],
  ['a variant behind one for tests', 'enum A { #[cfg(test)]\nX(u8, u8), Y(crate::b::Thing) }'],
  [
    'an arm behind one for tests',
    'fn f() { match 1 { #[cfg(test)]\n1 => 2, _ => crate::b::make() } }',
  ],
  ['code behind a comment that holds another', '/* one /* two */ " */ use crate::b::Thing; // "'],
  ['a glob of an enum', 'use crate::b::Kind::*;'],
  ['an export of all of another module', 'pub use crate::b::*;'],
  [
    'code behind a function for tests',
    '#[cfg(test)]\nfn f<A, B>(a: [u8; 3]) {}\nuse crate::b::Thing;',
  ],
])('a use is found in %s', (_, text) => {
  expect(usesOf({ 'lib.rs': LIB, 'a.rs': text, 'b.rs': B })).toContain('a -> b');
});

test.each([
  ['a comment', '// use crate::b::Thing;'],
  ['a comment of several lines', '/* use crate::b::Thing; */'],
  ['a comment that holds another', '/* one /* two */ use crate::b::Thing; */'],
  ['a string', 'const A: &str = "crate::b::Thing";'],
  ['a test', '#[cfg(test)]\nmod tests { use crate::b::Thing; }'],
  ['a test of one configuration', '#[cfg(all(test, unix))]\nuse crate::b::Thing;'],
  ['a file for tests', '#![cfg(test)]\nuse crate::b::Thing;'],
  ['a field for tests', 'struct A { #[cfg(test)]\nx: crate::b::Thing, y: u8 }'],
  ['an arm for tests', 'fn f() { match 1 { #[cfg(test)]\n1 => crate::b::make(), _ => 2 } }'],
  ['a function for tests', '#[cfg(test)]\nfn f<A, B>(a: [u8; 3]) { crate::b::make() }'],
  [
    'what two conditions leave to tests',
    '#[cfg(any(test, all(test, unix)))]\nuse crate::b::Thing;',
  ],
  ['the name of another crate', 'use std::b::Thing;'],
])('no use is found in %s', (_, text) => {
  expect(usesOf({ 'lib.rs': LIB, 'a.rs': text, 'b.rs': B })).toEqual([]);
});

test('a file that its parent compiles for tests alone does not count', () => {
  const files = {
    'lib.rs': '#[cfg(test)]\nmod a;\nmod b;',
    'a.rs': 'use crate::b::Thing;',
    'b.rs': B,
  };
  expect(usesOf(files)).toEqual([]);
});

test.each([
  ['by name', 'pub use deep::Thing;'],
  ['by another name', 'pub use deep::Thing as Renamed;'],
  ['by a glob', 'pub use deep::*;'],
  ['for what is inside', 'use deep::Thing;'],
])('a use of what a module exports again %s is one of the file that defines it', (_, again) => {
  const name = again.includes('Renamed') ? 'Renamed' : 'Thing';
  const uses = usesOf({
    'lib.rs': LIB,
    'a.rs': `use crate::b::${name};`,
    'b/mod.rs': `mod deep;\n${again}\n`,
    'b/deep.rs': B,
  });
  expect(uses).toContain('a -> b::deep');
  expect(uses).not.toContain('a -> b');
});

test('a file that only exports what is inside it does not use it', () => {
  const deep = { 'lib.rs': 'mod b;', 'b/deep.rs': B };
  expect(usesOf({ ...deep, 'b/mod.rs': 'mod deep;\npub use deep::Thing;' })).toEqual([]);
  const used = 'mod deep;\npub use deep::Thing;\nfn f() -> Thing { Thing }';
  expect(usesOf({ ...deep, 'b/mod.rs': used })).toEqual(['b -> b::deep']);
});

test.each([
  ['a method', 'impl Other { fn make() {} }'],
  ['a lifetime', "fn f(a: &'static make) {}"],
  ['a pointer', 'fn f(a: *const make) {}'],
])('%s does not hide what a module exports again under its name', (_, text) => {
  const uses = usesOf({
    'lib.rs': LIB,
    'a.rs': 'use crate::b::make;',
    'b/mod.rs': `mod deep;\npub use deep::make;\n${text}`,
    'b/deep.rs': B,
  });
  expect(uses).toContain('a -> b::deep');
});

test.each(['const fn make() {}', 'static mut make: u8 = 0;', 'const make: u8 = 0;'])(
  'an item is found in %s',
  (text) => {
    const uses = usesOf({
      'lib.rs': LIB,
      'a.rs': 'use crate::b::make;',
      'b/mod.rs': `mod deep;\n${text}`,
      'b/deep.rs': B,
    });
    expect(uses).toEqual(['a -> b']);
  },
);

test.each([
  ['the file of a module', '#[path = "x.rs"]\nmod a;', '#[path]'],
  ['the file of a module, on a condition', '#[cfg_attr(unix, path = "x.rs")]\nmod a;', '#[path]'],
  ['the crate by another name', 'extern crate self as own;', 'extern crate self'],
  ['source of another file', 'include!("x.rs");', 'include!'],
  ['a raw name', 'use crate::r#type::Thing;', 'a raw name'],
])('source that names %s is refused', (_, text, reason) => {
  expect(() => crateOf({ 'lib.rs': text })).toThrow(reason);
});

test('other attributes, texts of other files and raw strings are not refused', () => {
  const text =
    '#[cfg_attr(unix, allow(dead_code))]\nconst A: &str = include_str!("a");\n' +
    'const B: &str = r#"include!"#;';
  expect(usesOf({ 'lib.rs': text })).toEqual([]);
});

test('a path of a module in the file of another begins in it', () => {
  const files = {
    'lib.rs': 'mod a;',
    'a/mod.rs': 'mod inner { use super::b::Thing; }\nmod b;',
    'a/b.rs': B,
  };
  expect(usesOf(files)).toEqual(['a -> a::b']);
});

const METHODS = {
  'lib.rs': 'mod thing; mod a; mod b;',
  'thing.rs': 'pub struct Thing<T>(T);\npub trait Act { fn act(&self); fn make(&self) {} }',
  'b.rs':
    'use crate::thing::Thing;\n' +
    'impl<T: Fn() -> u8> Thing<T> where T: Clone {\n    pub const fn make(&self) {}\n}',
};

test.each([
  ['of itself', 'impl<T> Thing<T> { fn f(&self) { self.make() } }'],
  ['of itself, with an argument of type', 'impl<T> Thing<T> { fn f(&self) { self.make::<u8>() } }'],
  ['of itself, over lines', 'impl<T> Thing<T> { fn f(&self) { self\n    .make() } }'],
  ['of its own type', 'impl<T> Thing<T> { fn f() { Self::make() } }'],
  ['of its own type, as a value', 'impl<T> Thing<T> { fn f() { call(Self::make) } }'],
  ['of a type by name', 'fn f() { Thing::make() }'],
  ['of a type by name and arguments', 'fn f() { Thing::<u8>::make() }'],
  ['of a type by name, as a value', 'fn f() { call(Thing::make) }'],
  ['in the block of a trait', 'impl<T> Act for Thing<T> { fn act(&self) { self.make() } }'],
  [
    'in the block of a trait of any lifetime',
    "impl<T: for<'a> Fn(&'a T)> Act for Thing<T> { fn act(&self) { self.make() } }",
  ],
])('a use is found in a call of a method %s that another file defines', (_, text) => {
  const uses = usesOf({ ...METHODS, 'a.rs': `use crate::thing::Thing;\n${text}` });
  expect(uses).toContain('a -> b');
});

test.each([
  ['another type', 'struct Other; impl Other { fn f(&self) { self.make() } }'],
  ['a field', 'impl Thing { fn f(&self) { self.make.go() } }'],
  ['a trait alone', 'fn f(a: impl Act) { a.act() }'],
  ['another item of the type', 'fn f() { Thing::other() }'],
])('no use is found in a call of %s', (_, text) => {
  const uses = usesOf({ ...METHODS, 'a.rs': `use crate::thing::{Act, Thing};\n${text}` });
  expect(uses).not.toContain('a -> b');
});

test('a method of a trait does not count as one of the type', () => {
  const uses = usesOf({
    'lib.rs': 'mod thing; mod a; mod b;',
    'thing.rs': 'pub struct Thing;\npub trait Act { fn make(&self); }',
    'b.rs': 'use crate::thing::{Act, Thing};\nimpl Act for Thing { fn make(&self) {} }',
    'a.rs': 'use crate::thing::Thing;\nimpl Thing { fn f(&self) { self.make() } }',
  });
  expect(uses).not.toContain('a -> b');
});

test('a circle by calls of methods is found', () => {
  const crate = crateOf({
    'lib.rs': 'mod thing; mod a; mod b;',
    'thing.rs': 'pub struct Thing;',
    'a.rs': 'use crate::thing::Thing;\nimpl Thing { fn one(&self) { self.two() } }',
    'b.rs': 'use crate::thing::Thing;\nimpl Thing { fn two(&self) { Self::one(self) } }',
  });
  expect(faultsOf(crate, [['a', 'b', 'thing']])).toContain('a circle: b -> a -> b');
});

test('a circle of a folder and the file above it is found whose files are in none', () => {
  const crate = crateOf({
    'lib.rs': 'mod top;',
    'top/mod.rs': 'mod x;\nuse x::one::One;\npub struct Whole(One);',
    'top/x/mod.rs': 'mod one; mod two;',
    'top/x/one.rs': 'pub struct One;',
    'top/x/two.rs': 'use crate::top::Whole;',
  });
  const reasons = 'top::x::two -> top, top -> top::x::one';
  expect(faultsOf(crate, [['top']])).toEqual([`a circle in 'top': x -> mod.rs -> x (${reasons})`]);
});

test('a circle of a file and the one above it is found', () => {
  const crate = crateOf({
    'lib.rs': 'mod b;',
    'b/mod.rs': 'mod deep;\nuse deep::Thing;\npub struct Whole(Thing);',
    'b/deep.rs': `use super::Whole;\n${B}`,
  });
  expect(faultsOf(crate, [['b']])).toEqual(['a circle: b -> b::deep -> b']);
});

test('a circle of several files is printed in full, once', () => {
  const crate = crateOf({
    'lib.rs': 'mod a; mod b; mod c;',
    'a.rs': 'use crate::b::B; pub struct A;',
    'b.rs': 'use crate::c::C; pub struct B;',
    'c.rs': 'use crate::a::A; pub struct C;',
  });
  const faults = faultsOf(crate, [['a'], ['b'], ['c']]);
  expect(faults.filter((fault) => fault.startsWith('a circle: '))).toHaveLength(1);
  expect(
    faults.some((fault) => fault.startsWith('a circle: ') && fault.split('->').length === 4),
  ).toBe(true);
});

test('a circle of folders is found whose files are in none', () => {
  const crate = crateOf({
    'lib.rs': 'mod top;',
    'top/mod.rs': 'mod x; mod y;',
    'top/x/mod.rs': 'mod one; mod two;',
    'top/x/one.rs': 'use crate::top::y::three::Three;',
    'top/x/two.rs': 'pub struct Two;',
    'top/y/mod.rs': 'mod three; mod four;',
    'top/y/three.rs': 'pub struct Three;',
    'top/y/four.rs': 'use crate::top::x::two::Two;',
  });
  const [fault, ...others] = faultsOf(crate, [['top']]);
  expect(others).toEqual([]);
  expect(fault).toContain("a circle in 'top'");
  expect(fault).toContain('top::x::one -> top::y::three');
});

test('a binary is a crate of its own, whose root is main.rs', () => {
  const files = { 'main.rs': 'mod a;\npub struct Top;', 'a.rs': 'use crate::Top;' };
  expect(usesOf(files)).toEqual(['a -> crate']);
  const beside = { 'lib.rs': 'mod a;', 'a.rs': 'pub struct Thing;', 'bin/main.rs': 'mod b;' };
  expect([...crateOf(beside).keys()]).toEqual(['a', '']);
});

test('a crate without layers has no faults but circles', () => {
  const uses = { 'lib.rs': LIB, 'a.rs': 'use crate::b::Thing;\npub struct A;' };
  expect(faultsOf(crateOf({ ...uses, 'b.rs': B }))).toEqual([]);
  const circle = `use crate::a::A;\n${B}`;
  expect(faultsOf(crateOf({ ...uses, 'b.rs': circle }))).toEqual(['a circle: b -> a -> b']);
});

test('a layer may use only those below it', () => {
  const crate = crateOf({ 'lib.rs': LIB, 'a.rs': 'use crate::b::Thing;', 'b.rs': B });
  expect(faultsOf(crate, [['a'], ['b']])).toEqual([]);
  expect(faultsOf(crate, [['b'], ['a']])).toEqual(['a -> b, which is no layer below it']);
  expect(faultsOf(crate, [['a', 'b']])).toEqual(['a -> b, which is no layer below it']);
});
