import { hash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder, writeDurably } from '../config/data-folder.js';
import { fingerprint } from '../config/file-watch.js';
import { messageOf, StartError } from '../core/start-error.js';
import { secretFileWarning } from './secret-file.js';

export type Role = 'readonly' | 'readwrite';

/** Who presented a key, and what they may do. */
export interface KeyHolder {
  readonly name: string;
  readonly role: Role;
}

/** A key as it is kept in memory: by its hash alone. It can be handed to another thread. */
export interface Key {
  readonly sha256: Uint8Array;
  readonly holder: KeyHolder;
  /** Whether the file gives the key itself, and it is short enough to be guessed. */
  readonly isShort: boolean;
}

/** A key as the file has it: itself, or its hash. */
export interface KeyEntry extends KeyHolder {
  readonly key?: string;
  readonly sha256?: string;
}

const ROLES: ReadonlyMap<unknown, Role> = new Map([
  ['readonly', 'readonly'],
  ['readwrite', 'readwrite'],
]);

const FIELDS: ReadonlySet<string> = new Set(['name', 'role', 'key', 'sha256']);

/** Visible ASCII: what a header of HTTP or gRPC carries unchanged. */
const PRESENTABLE_KEY = /^[\x21-\x7e]+$/;

const SHA256_HEX = /^[0-9a-f]{64}$/i;

/** 256 bits: beyond guessing, whatever the rate. */
const KEY_BYTES = 32;

/** 16 random letters and digits have 95 bits. */
const LEAST_KEY_LENGTH = 16;

const LONGEST_NAME_SHOWN = 40;

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** A keys file as it was read. */
export interface KeysFile {
  readonly text: string;
  /** Which version of the file that was; see `fingerprint`. */
  readonly version: string;
  /** Its permissions. */
  readonly mode: number;
}

export function readKeysFile(path: string): KeysFile {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    // Taken before the text: a change between the two is seen as a change later on.
    const stats = fstatSync(file, { bigint: true });
    const text = readFileSync(file, 'utf8');
    return { text, version: fingerprint(stats), mode: Number(stats.mode) & 0o777 };
  } catch (error) {
    throw refusal(path, `cannot be read: ${messageOf(error)}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Lines for the log about a keys file that is accepted and not as safe as it should be. */
export function keysFileWarnings(path: string, mode: number, keys: readonly Key[]): string[] {
  const warnings: string[] = [];
  const warning = secretFileWarning('keys file', path, mode);
  if (warning !== undefined) warnings.push(warning);
  for (const { holder, isShort } of keys) {
    if (!isShort) continue;
    warnings.push(
      `the key ${JSON.stringify(holder.name)} in ${path} has fewer than ${LEAST_KEY_LENGTH} ` +
        'characters and may be guessed: replace it by a longer, random one',
    );
  }
  return warnings;
}

/**
 * The keys in the text of a keys file. Whatever is not understood is refused, with the entry
 * named: this file decides who gets in. No message quotes more of the text than the names of the
 * entries: anything else could be a secret in the wrong place.
 */
export function parseKeysFile(path: string, text: string): Key[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw refusal(path, `is not valid JSON${describePosition(text, error)}`);
  }
  if (!isObject(content) || !Array.isArray(content['keys']) || Object.keys(content).length !== 1) {
    throw refusal(path, 'has an unknown form, expected {"keys": [...]} and nothing else');
  }
  if (content['keys'].length === 0) throw refusal(path, 'holds no keys, expected at least one');
  const whereOfName = new Map<string, string>();
  const whereOfKey = new Map<string, string>();
  return content['keys'].map((entry: unknown, index) => {
    const where = describeEntry(entry, index);
    const refuse = (reason: string) => refusal(path, `${where}: ${reason}`);
    const key = parseEntry(entry, refuse);
    const sameName = whereOfName.get(key.holder.name);
    if (sameName !== undefined) throw refuse(`has the same name as ${sameName}`);
    const digest = Buffer.from(key.sha256).toString('hex');
    const sameKey = whereOfKey.get(digest);
    if (sameKey !== undefined) throw refuse(`is the same key as ${sameKey}`);
    whereOfName.set(key.holder.name, where);
    whereOfKey.set(digest, where);
    return key;
  });
}

function parseEntry(entry: unknown, refuse: (reason: string) => StartError): Key {
  if (!isObject(entry)) throw refuse('is not an object');
  if (!Object.keys(entry).every((field) => FIELDS.has(field))) {
    throw refuse(`has a field other than ${[...FIELDS].join(', ')}`);
  }
  const { name } = entry;
  if (typeof name !== 'string' || name === '') throw refuse('name is not a non-empty string');
  const role = ROLES.get(entry['role']);
  if (role === undefined) throw refuse('role is not "readonly" or "readwrite"');
  const { key } = entry;
  const isShort = typeof key === 'string' && key.length < LEAST_KEY_LENGTH;
  return { sha256: parseSecret(entry, refuse), holder: Object.freeze({ name, role }), isShort };
}

function parseSecret(
  { key, sha256: hex }: Record<string, unknown>,
  refuse: (reason: string) => StartError,
): Buffer {
  if ((key === undefined) === (hex === undefined)) {
    throw refuse(`has ${key === undefined ? 'none' : 'both'} of key and sha256, expected one`);
  }
  if (key === undefined) {
    if (typeof hex !== 'string' || !SHA256_HEX.test(hex)) {
      throw refuse('sha256 is not 64 hexadecimal digits');
    }
    return Buffer.from(hex, 'hex');
  }
  if (typeof key !== 'string') throw refuse('key is not a string');
  if (key === '') throw refuse('key is empty');
  if (!PRESENTABLE_KEY.test(key)) {
    throw refuse('key holds other characters than visible ASCII, which no header carries safely');
  }
  return sha256(key);
}

/**
 * Creates a keys file with two fresh keys unless there is a file already; answers whether it did.
 * The file appears whole, durable and readable by its owner alone, or not at all. The caller
 * holds the lock of the folder, so what an earlier, interrupted attempt left behind is dropped.
 */
export function createKeysFile(path: string): boolean {
  const unfinished = `${path}.new`;
  try {
    rmSync(unfinished, { force: true });
    if (existsSync(path)) return false;
    writeDurably(unfinished, freshKeys());
    // Unlike a rename, a link never replaces a file that somebody has put there meanwhile.
    linkSync(unfinished, path);
    rmSync(unfinished);
    syncFolder(dirname(path));
  } catch (error) {
    throw refusal(path, `cannot be created: ${messageOf(error)}`);
  }
  return true;
}

function freshKeys(): string {
  return formatKeysFile([
    { name: 'admin', role: 'readwrite', key: freshKey() },
    { name: 'search', role: 'readonly', key: freshKey() },
  ]);
}

/** The text of a keys file. */
export function formatKeysFile(keys: readonly KeyEntry[]): string {
  return `${JSON.stringify({ keys }, undefined, 2)}\n`;
}

/** A new random key. */
export function freshKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

export function refusal(path: string, reason: string): StartError {
  return new StartError(`the keys file ${path} ${reason}`);
}

function describeEntry(entry: unknown, index: number): string {
  const name = isObject(entry) ? entry['name'] : undefined;
  if (typeof name !== 'string') return `keys[${index}]`;
  return `keys[${index}] (${JSON.stringify(name.slice(0, LONGEST_NAME_SHOWN))})`;
}

/** Where JSON.parse stopped: its own message would quote the text around that place. */
function describePosition(text: string, error: unknown): string {
  const position = /at position (\d+)/.exec(messageOf(error))?.[1];
  if (position === undefined) return '';
  const linesBefore = text.slice(0, Number(position)).split('\n');
  return ` at line ${linesBefore.length}, column ${(linesBefore.at(-1)?.length ?? 0) + 1}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
