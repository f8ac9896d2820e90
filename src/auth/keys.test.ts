import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { CHECK_INTERVAL_MS, type FileWatch } from '../config/file-watch.js';
import type { Key } from './keys-file.js';
import { watchKeys } from './keys-watch.js';
import { LoadedKeys } from './loaded-keys.js';
import { Keys } from './keys.js';
import { createLogger } from '../observe/logger.js';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vectord-keys-'));
  path = join(folder, 'keys.json');
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('looking up a key', () => {
  test('tells its holder, whether the file has the key or its hash', () => {
    const hash = createHash('sha256').update('two').digest('hex');
    writeFileSync(
      path,
      `{"keys":[{"name":"admin","role":"readwrite","key":"one"},
                {"name":"search","role":"readonly","sha256":"${hash}"}]}`,
    );
    const keys = new Keys(LoadedKeys.load(path).list);
    expect(keys.lookup('one')).toEqual({ name: 'admin', role: 'readwrite' });
    expect(keys.lookup('two')).toEqual({ name: 'search', role: 'readonly' });
    expect(keys.lookup(hash)).toBeUndefined();
  });

  test.each(['', 'on', 'one ', 'ONE', 'onee', 'admin', '__proto__', 'x'.repeat(100_000)])(
    'knows nobody by %.20j',
    (presented) => {
      writeKeys(path, 'one');
      expect(new Keys(LoadedKeys.load(path).list).lookup(presented)).toBeUndefined();
    },
  );
});

describe('reading the file again', () => {
  test('takes over the new keys and forgets the old ones', () => {
    writeKeys(path, 'old');
    const loaded = LoadedKeys.load(path);
    const keys = new Keys(loaded.list);
    // A key that was presented once is known without its hash.
    expect(keys.lookup('old')).toMatchObject({ role: 'readwrite' });
    writeKeys(path, 'new');
    loaded.reload();
    keys.set(loaded.list);
    expect(keys.lookup('new')).toMatchObject({ role: 'readwrite' });
    expect(keys.lookup('old')).toBeUndefined();
  });

  test('keeps the old keys when the file is bad or gone', () => {
    writeKeys(path, 'old');
    const loaded = LoadedKeys.load(path);
    const { list } = loaded;
    writeFileSync(path, '{"keys":[]}');
    expect(() => loaded.reload()).toThrow('holds no keys');
    rmSync(path);
    expect(() => loaded.reload()).toThrow('cannot be read');
    expect(loaded.list).toBe(list);
  });
});

describe('a watched file', () => {
  let lines: { level: string; msg: string; reason?: string }[] = [];
  let loaded: LoadedKeys;
  let keys: Keys;
  let watch: FileWatch | undefined;
  let clock: ManualClock;

  const start = () => {
    lines = [];
    load();
    const logger = createLogger('info', {
      write: (line: string) => void lines.push(JSON.parse(line)),
    });
    watch = watchKeys(loaded, take, logger, clock);
  };

  const load = () => {
    loaded = LoadedKeys.load(path);
    keys = new Keys(loaded.list);
  };

  const take = async (list: readonly Key[]) => keys.set(list);

  beforeEach(() => {
    clock = new ManualClock();
  });

  afterEach(() => watch?.close());

  test('is taken over when it is written in place', async () => {
    writeKeys(path, 'old');
    start();
    writeKeys(path, 'new');
    await expectTakeover('new');
    expect(keys.lookup('old')).toBeUndefined();
    const warnings = lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    expect(warnings).toEqual(loaded.warnings);
    expect(warnings.join()).toContain('has fewer than 16 characters');
  });

  test('is taken over when another file is renamed over it', async () => {
    writeKeys(path, 'old');
    start();
    writeKeys(`${path}.tmp`, 'new');
    renameSync(`${path}.tmp`, path);
    await expectTakeover('new');
  });

  test('is taken over when the link that leads to it turns, as Kubernetes does it', async () => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(folder, version));
      writeKeys(join(folder, version, 'keys.json'), version);
    }
    symlinkSync('v1', join(folder, '..data'));
    symlinkSync(join('..data', 'keys.json'), path);
    start();
    symlinkSync('v2', join(folder, '..data.new'));
    renameSync(join(folder, '..data.new'), join(folder, '..data'));
    await expectTakeover('v2');
    expect(keys.lookup('v1')).toBeUndefined();
  });

  test('is taken over when it changed between the first reading and the first look', async () => {
    writeKeys(path, 'old');
    load();
    writeKeys(path, 'new');
    watch = watchKeys(loaded, take, createLogger('silent'), clock);
    await expectTakeover('new');
  });

  test('is told of once its keys are in force, which may take a while', async () => {
    writeKeys(path, 'old');
    load();
    lines = [];
    const logger = createLogger('info', {
      write: (line: string) => void lines.push(JSON.parse(line)),
    });
    let finish = (): void => expect.fail('the keys were not handed over');
    const slowly = async () => await new Promise<void>((resolve) => (finish = resolve));
    watch = watchKeys(loaded, slowly, logger, clock);
    writeKeys(path, 'new');
    const reloaded = watch.reload();
    await Promise.resolve();
    expect(lines).toEqual([]);
    finish();
    await reloaded;
    expect(lines[0]?.msg).toBe('keys file read again');
  });

  test('is not read while it is being written', async () => {
    writeKeys(path, 'old');
    start();
    // It differs at each look, and is good only at the last.
    for (const half of ['{', '{"keys":[', '{"keys":[{"name":"k"']) {
      writeFileSync(path, half);
      await clock.advance(CHECK_INTERVAL_MS);
    }
    writeKeys(path, 'new');
    await expectTakeover('new');
    // The lines of level warn are about its permissions and its short key.
    const told = lines.filter(({ level }) => level !== 'warn');
    expect(told.map(({ msg }) => msg)).toEqual(['keys file read again']);
  });

  test('is looked at once at a time, so that two looks at one moment do not take a change over', async () => {
    writeKeys(path, 'old');
    start();
    writeKeys(path, 'new');
    await Promise.all([look(1), look(1)]);
    expect(keys.lookup('old')).toBeDefined();
    await look(2);
    expect(keys.lookup('new')).toBeDefined();
  });

  test('is refused loudly, and once, when it is bad: the old keys stay', async () => {
    writeKeys(path, 'old');
    start();
    writeFileSync(path, '{"keys":[{"name":"x","role":"root","key":"hunter2hunter2"}]}');
    await look(2);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'error',
      reason: expect.stringContaining('keys[0] ("x")'),
    });
    await look(4);
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(keys.lookup('old')).toBeDefined();
    writeKeys(path, 'new');
    await expectTakeover('new');
  });

  test('is refused when it is gone, and taken over when it is back', async () => {
    writeKeys(path, 'old');
    start();
    rmSync(path);
    await look(2);
    expect(lines.at(-1)?.level).toBe('error');
    expect(keys.lookup('old')).toBeDefined();
    writeKeys(path, 'new');
    await expectTakeover('new');
  });

  test('is left alone once the watch is closed', async () => {
    writeKeys(path, 'old');
    start();
    watch?.close();
    writeKeys(path, 'new');
    await look(4);
    expect(keys.lookup('old')).toBeDefined();
    expect(lines).toHaveLength(0);
  });

  async function expectTakeover(key: string): Promise<void> {
    await look(1);
    expect(keys.lookup(key)).toBeUndefined();
    await look(1);
    expect(keys.lookup(key)).toBeDefined();
  }

  async function look(times: number): Promise<void> {
    await clock.advance(times * CHECK_INTERVAL_MS);
  }
});

/** Writes a file of one key, at a time of its own: clocks of file systems are coarse. */
function writeKeys(file: string, key: string): void {
  writeFileSync(file, JSON.stringify({ keys: [{ name: 'k', role: 'readwrite', key }] }));
  writes += 1;
  utimesSync(file, writes, writes);
}

let writes = 0;
