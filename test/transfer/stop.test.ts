import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { importRows } from '../../src/transfer/import.js';
import { ImportState, START, type Position } from '../../src/transfer/import-state.js';
import { DEFAULT_MAPPING } from '../../src/transfer/mapping.js';
import type { Source } from '../../src/transfer/row.js';
import { openSource } from '../../src/transfer/source.js';
import { open } from '../client/open.js';
import { Restartable } from '../client/restart.js';
import { startServer, type TestServer } from '../support/server.js';
import { begin, endOf, fileOf } from './command.js';

const GOOD = '{"vector":[1,2]}\n';
const BAD = '{}\n';

/** Bad rows that are read from a file at one time. */
const BAD_AT_ONCE = (1024 * 1024) / BAD.length;

/** Where the signal comes, once rows are asked for. */
const SIGNAL_AFTER_MS = 100;

/** To go through one of the files takes longer; to stop in the midst takes no more than moments. */
const PATIENCE = { timeout: 60_000 };

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
});

/** A file in gzip of which a part comes again for 400 MB. */
function long(name: string, start: string, part: string): string {
  const many = gzipSync(part.repeat(4_000_000 / part.length));
  const parts = [gzipSync(start), ...Array.from({ length: 100 }, () => many)];
  return fileOf(name, Buffer.concat(parts));
}

/** An import that goes on where it was, and gets a signal; answers the place that it has noted. */
async function stopped(path: string, done: Position = START): Promise<Position> {
  const state = new ImportState(`${path}.state`, {});
  if (done !== START) state.write(done);
  const mapping = DEFAULT_MAPPING;
  const files = { path, format: undefined, texts: undefined, delimiter: ',' };
  const source = await openSource({ ...files, mapping });
  const giveUp = new AbortController();
  const signalled: Source = {
    ...source,
    rows(after) {
      setTimeout(() => giveUp.abort(), SIGNAL_AFTER_MS);
      return source.rows(after);
    },
  };
  const { stoppedBy } = await importRows(open(server, 'grpc'), signalled, {
    mapping,
    sourceName: 'name',
    state,
    isRestart: false,
    rejectsPath: `${path}.rejected.jsonl`,
    maxRejects: Infinity,
    ifAbsent: false,
    window: undefined,
    patienceMs: undefined,
    stopping: giveUp.signal,
    onProgress() {},
  });
  await source.close();
  expect(stoppedBy).toBe('signal');
  return state.begin(false);
}

test.each([
  ['blank lines', long('a.jsonl.gz', GOOD, '\n')],
  ['blank lines of CSV', long('a.csv.gz', 'vector\n"[1,2]"\n', '\n')],
])('in the midst of %s', PATIENCE, async (_, path) => {
  expect(await stopped(path)).toEqual({ ...START, rows: 1, stored: 1 });
});

test('in the midst of bad rows, of which each that was read is listed', PATIENCE, async () => {
  const path = long('b.jsonl.gz', '', BAD);
  const { rows, stored, rejected, rejectsBytes } = await stopped(path);
  expect([rows, stored]).toEqual([rejected, 0]);
  expect(rejected).toBeLessThan(BAD_AT_ONCE / 2);
  const rejects = readFileSync(`${path}.rejected.jsonl`, 'utf8');
  expect([rejects.length, rejects.trimEnd().split('\n').length]).toEqual([rejectsBytes, rejected]);
});

test.each([
  ['lines', long('c.jsonl.gz', '', GOOD)],
  ['records of CSV', long('c.csv.gz', 'vector\n', '"[1,2]"\n')],
])('in the midst of %s that are stored already', PATIENCE, async (_, path) => {
  const done = { rows: 1e9, stored: 1e9, rejected: 0, rejectsBytes: 0 };
  expect(await stopped(path, done)).toEqual(done);
});

test('the process ends with the command, and reads no further', PATIENCE, async () => {
  const path = long('d.jsonl.gz', BAD, '\n');
  const command = begin(server, ['import', path]);
  await command.until(() => existsSync(`${path}.rejected.jsonl`));
  expect((await command.stop('SIGTERM')).code).toBe(143);
  expect(command.stdout).toContain('stopped behind row 1, by a signal');
});

describe('where the service', () => {
  const SAID = /^stopping: .* a second signal ends it at once\n/;

  test.each([
    ['import', 'stopped behind row 0, by a signal: the same command goes on from there\n', ''],
    ['export', '', 'vectord export was stopped by a signal\n'],
  ])('never answers, an %s ends at once', PATIENCE, async (name, stdout, stderr) => {
    const hung = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void hung.close());
    await once(hung, 'listening');
    const url = `http://127.0.0.1:${(hung.address() as AddressInfo).port}`;
    const path = name === 'import' ? fileOf('rows.jsonl', GOOD) : fileOf('rows.jsonl');
    const command = begin(server, [name, path], url);
    await once(hung, 'connection');
    expect((await command.stop('SIGINT')).code).toBe(130);
    expect(command.stdout).toContain(stdout);
    expect(command.stderr).toMatch(SAID);
    expect(command.stderr.replace(SAID, '')).toBe(stderr);
  });

  test('is gone meanwhile, an import says how far it came', PATIENCE, async () => {
    const service = await Restartable.start({ dimension: 2, env: { MAX_BATCH: '10' } });
    const path = fileOf('rows.jsonl', GOOD.repeat(20_000));
    const command = begin(service.server, ['import', path]);
    await command.until(() => existsSync(`${path}.vectord-import.json`));
    await service.kill();
    command.process.kill('SIGTERM');
    await command.until(() => SAID.test(command.stderr));
    expect((await endOf(command)).code).toBe(143);
    expect(command.stdout).toMatch(/^[1-9][\d,]* points stored, /);
    expect(command.stdout).toMatch(/stopped behind row [1-9][\d,]*, by a signal: the same command/);
    expect(command.stderr.replace(SAID, '')).toBe('');
  });
});
