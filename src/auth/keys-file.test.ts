import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createKeysFile, keysFileWarnings, parseKeysFile, readKeysFile } from './keys-file.js';
import { StartError } from '../core/start-error.js';

const SECRET = 'correct-horse-battery-staple';
const SECRET_HEX = createHash('sha256').update(SECRET).digest('hex');
const GOOD = { name: 'a', role: 'readonly', key: SECRET };

describe('parsing a keys file', () => {
  test('gives the hash, name and role of each key', () => {
    const text = JSON.stringify({
      keys: [
        { name: 'admin', role: 'readwrite', key: 'one' },
        { name: '__proto__', role: 'readonly', sha256: SECRET_HEX.toUpperCase() },
      ],
    });
    expect(parseKeysFile('keys.json', text)).toEqual([
      {
        sha256: createHash('sha256').update('one').digest(),
        holder: { name: 'admin', role: 'readwrite' },
        isShort: true,
      },
      {
        sha256: Buffer.from(SECRET_HEX, 'hex'),
        holder: { name: '__proto__', role: 'readonly' },
        isShort: false,
      },
    ]);
  });

  test.each([
    ['nothing', '', 'is not valid JSON'],
    ['half a file', '{"keys":[{"name":"a","key":"', 'is not valid JSON'],
    ['an array', '[]', 'has an unknown form'],
    ['a string', '"keys"', 'has an unknown form'],
    ['null', 'null', 'has an unknown form'],
    ['an object without keys', '{}', 'has an unknown form'],
    ['a second field', '{"keys":[],"version":1}', 'has an unknown form'],
    ['keys by name', '{"keys":{"admin":"k"}}', 'has an unknown form'],
    ['no keys', '{"keys":[]}', 'holds no keys'],
  ])('refuses %s', (_, text, reason) => {
    expect(() => parseKeysFile('some/keys.json', text)).toThrow(`some/keys.json ${reason}`);
  });

  test.each([
    ['an entry that is a string', [SECRET], 'keys[0]: is not an object'],
    ['an unknown field', [{ ...GOOD, until: '2030' }], 'keys[0] ("a"): has a field other than'],
    ['no name', [{ ...GOOD, name: undefined }], 'keys[0]: name is not a non-empty string'],
    ['an empty name', [{ ...GOOD, name: '' }], 'name is not a non-empty string'],
    ['a name that is a number', [{ ...GOOD, name: 7 }], 'name is not a non-empty string'],
    ['no role', [{ ...GOOD, role: undefined }], 'keys[0] ("a"): role is not'],
    ['an unknown role', [{ ...GOOD, role: 'admin' }], 'keys[0] ("a"): role is not'],
    [
      'an inherited role',
      [{ ...GOOD, role: 'constructor' }],
      'role is not "readonly" or "readwrite"',
    ],
    ['an empty key', [{ ...GOOD, key: '' }], 'keys[0] ("a"): key is empty'],
    ['a key that is a number', [{ ...GOOD, key: 12345 }], 'key is not a string'],
    ['a key that is null', [{ ...GOOD, key: null }], 'key is not a string'],
    ['a key with a space', [{ ...GOOD, key: `${SECRET} ` }], 'other characters than visible ASCII'],
    ['a key beyond ASCII', [{ ...GOOD, key: `${SECRET}é` }], 'other characters than visible ASCII'],
    ['neither key nor hash', [{ name: 'a', role: 'readonly' }], 'has none of key and sha256'],
    ['key and hash', [{ ...GOOD, sha256: SECRET_HEX }], 'has both of key and sha256'],
    ['a short hash', [hashed('a', SECRET_HEX.slice(1))], 'sha256 is not 64 hexadecimal digits'],
    ['a hash in base64', [hashed('a', 'q'.repeat(64))], 'sha256 is not 64 hexadecimal digits'],
    [
      'the same name twice',
      [GOOD, { ...GOOD, key: 'other' }],
      'keys[1] ("a"): has the same name as keys[0] ("a")',
    ],
    [
      'the same key twice',
      [GOOD, { name: 'x', role: 'readwrite', key: 'x' }, { ...GOOD, name: 'b' }],
      'keys[2] ("b"): is the same key as keys[0] ("a")',
    ],
    [
      'the same key as a hash',
      [GOOD, hashed('b', SECRET_HEX.toUpperCase())],
      'keys[1] ("b"): is the same key as keys[0] ("a")',
    ],
  ])('refuses %s', (_, keys, reason) => {
    expect(() => parseKeysFile('keys.json', JSON.stringify({ keys }))).toThrow(reason);
  });

  test('says where the JSON breaks without quoting what stands there', () => {
    const text = `{"keys": [\n  {"key": "${SECRET}" "name": "a"}]}`;
    const message = refusalOf(() => parseKeysFile('keys.json', text));
    expect(message).toContain('at line 2, column');
    for (const broken of [text, `"${SECRET}`, `${SECRET}`, `{"keys": ${SECRET}}`]) {
      const refusal = refusalOf(() => parseKeysFile('keys.json', broken));
      expect(refusal).not.toContain(SECRET.slice(0, 8));
    }
  });

  test('never shows a key in a refusal', () => {
    const entries = [
      [GOOD, { ...GOOD, name: 'b' }],
      [{ ...GOOD, role: SECRET, key: 'readonly' }],
      [{ [SECRET]: 'readwrite' }],
      [{ ...GOOD, key: `${SECRET}\n` }],
      [{ ...GOOD, sha256: SECRET_HEX }],
      [SECRET],
    ];
    for (const keys of entries) {
      const message = refusalOf(() => parseKeysFile('keys.json', JSON.stringify({ keys })));
      expect(message).not.toContain(SECRET.slice(0, 8));
    }
  });
});

test('a key shorter than 16 characters is warned about by its name alone', () => {
  const keys = [
    { name: 'short', role: 'readonly', key: 'fifteen-letters' },
    { name: 'long', role: 'readonly', key: 'sixteen--letters' },
    hashed('hashed', SECRET_HEX),
  ];
  const parsed = parseKeysFile('keys.json', JSON.stringify({ keys }));
  expect(keysFileWarnings('keys.json', 0o600, parsed)).toEqual([
    'the key "short" in keys.json has fewer than 16 characters and may be guessed: ' +
      'replace it by a longer, random one',
  ]);
});

describe('a keys file on disk', () => {
  let folder = '';
  let path = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vectord-keys-'));
    path = join(folder, 'keys.json');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  test('is refused when it is missing or a folder', () => {
    expect(() => readKeysFile(path)).toThrow(`the keys file ${path} cannot be read: ENOENT`);
    expect(() => readKeysFile(folder)).toThrow(`the keys file ${folder} cannot be read: EISDIR`);
  });

  test('is created with a fresh key of each role, for its owner alone', () => {
    expect(createKeysFile(path)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { keys } = JSON.parse(readFileSync(path, 'utf8'));
    expect(keys).toEqual([
      { name: 'admin', role: 'readwrite', key: expect.stringMatching(/^[\w-]{43}$/) },
      { name: 'search', role: 'readonly', key: expect.stringMatching(/^[\w-]{43}$/) },
    ]);
    expect(keys[0].key).not.toBe(keys[1].key);
    expect(parseKeysFile(path, readKeysFile(path).text)).toHaveLength(2);
  });

  test('leaves the permissions of the folder that it is created in as they are', () => {
    chmodSync(folder, 0o755);
    createKeysFile(path);
    expect(statSync(folder).mode & 0o777).toBe(0o755);
  });

  test('is warned about where every user may read it', () => {
    createKeysFile(path);
    const warnings = () => {
      const { text, mode } = readKeysFile(path);
      return keysFileWarnings(path, mode, parseKeysFile(path, text));
    };
    expect(warnings()).toEqual([]);
    chmodSync(path, 0o640);
    expect(warnings()).toEqual([]);
    chmodSync(path, 0o604);
    expect(warnings()).toEqual([
      `every user of this machine can read the keys file ${path} (mode 604): chmod o-r ${path}`,
    ]);
  });

  test('is created once: whatever stands there stays', () => {
    writeFileSync(path, 'damaged');
    expect(createKeysFile(path)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('damaged');
  });

  test('is created in spite of what an interrupted attempt left', () => {
    writeFileSync(`${path}.new`, '{"keys":[{"na');
    expect(createKeysFile(path)).toBe(true);
    expect(existsSync(`${path}.new`)).toBe(false);
    expect(parseKeysFile(path, readKeysFile(path).text)).toHaveLength(2);
  });

  test('is not written through a link that leads nowhere', () => {
    const elsewhere = join(folder, 'elsewhere');
    symlinkSync(elsewhere, path);
    expect(() => createKeysFile(path)).toThrow(`the keys file ${path} cannot be created`);
    expect(existsSync(elsewhere)).toBe(false);
  });

  test('has another version once it is written to or replaced', () => {
    createKeysFile(path);
    const first = readKeysFile(path);
    expect(readKeysFile(path)).toEqual(first);
    rmSync(path);
    createKeysFile(path);
    expect(readKeysFile(path).version).not.toBe(first.version);
  });
});

function hashed(name: string, sha256: string) {
  return { name, role: 'readonly', sha256 };
}

function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof StartError) return error.message;
  }
  throw new Error('expected a StartError');
}
