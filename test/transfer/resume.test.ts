import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Client } from '../../src/client/node.js';
import { Restartable } from '../client/restart.js';
import { all, open } from '../client/open.js';
import { startServer, type TestServer } from '../support/server.js';
import type { Vectord } from '../support/vectord.js';
import { begin, endOf, fileOf } from './command.js';

/** Every hundredth row is bad. */
const ROWS = 10_000;
const BAD = ROWS / 100;
const GOOD = ROWS - BAD;

/** Small batches, so that the import takes long enough to be cut off. */
const SLOW = { dimension: 2, env: { MAX_BATCH: '10' } };

const PATIENCE = { timeout: 120_000 };

function source(): string {
  const lines = Array.from({ length: ROWS }, (_, at) => {
    const vector = (at + 1) % 100 === 0 ? [at] : [at, 1];
    return JSON.stringify({ vector, content: String(at + 1) });
  });
  return fileOf('rows.jsonl', `${lines.join('\n')}\n`);
}

/** Waits until the import has noted a place at which it can go on. */
async function untilNoted(command: Vectord, path: string): Promise<void> {
  await command.until(() => existsSync(`${path}.vectord-import.json`));
}

async function expectWhole(server: TestServer, path: string): Promise<void> {
  const client: Client = open(server, 'grpc');
  const contents = (await all(client.scroll())).map(({ content }) => Number(content));
  expect(contents.length).toBe(GOOD);
  expect(new Set(contents).size).toBe(GOOD);
  const rejects = readFileSync(`${path}.rejected.jsonl`, 'utf8').trimEnd().split('\n');
  const rows = rejects.map((line) => (JSON.parse(line) as { row: number }).row);
  expect(rows).toEqual(Array.from({ length: BAD }, (_, at) => (at + 1) * 100));
  expect(existsSync(`${path}.vectord-import.json`)).toBe(false);
}

/** Goes on with an import that was cut off, and expects that it begins where it was. */
async function expectGoesOn(server: TestServer, path: string): Promise<void> {
  const { code, stdout } = await endOf(begin(server, ['import', path]));
  const row = /^went on behind row ([\d,]+)/.exec(stdout)?.[1]?.replaceAll(',', '');
  expect(Number(row)).toBeGreaterThan(0);
  expect(stdout).toContain(`${BAD} rows rejected`);
  expect(code).toBe(1);
  await expectWhole(server, path);
}

test.each([
  ['SIGKILL', null, ''],
  ['SIGINT', 130, 'the same command goes on from there'],
] as const)(
  'an import that %s ends goes on without duplicates',
  PATIENCE,
  async (signal, exitCode, said) => {
    const server = await startServer(SLOW);
    const path = source();
    const command = begin(server, ['import', path]);
    await untilNoted(command, path);
    const exit = await command.stop(signal);
    expect(exit.code).toBe(exitCode);
    expect(command.stdout).toContain(said);
    await expectGoesOn(server, path);
  },
);

test('a service that restarts meanwhile is waited for', PATIENCE, async () => {
  const service = await Restartable.start(SLOW);
  const path = source();
  const command = begin(service.server, ['import', path]);
  await untilNoted(command, path);
  await service.restart();
  expect(await endOf(command)).toMatchObject({ code: 1 });
  await expectWhole(service.server, path);
});

test('an import whose service stays away ends, and goes on once it is back', PATIENCE, async () => {
  const service = await Restartable.start(SLOW);
  const path = source();
  const command = begin(service.server, ['import', path, '--patience', '1']);
  await untilNoted(command, path);
  await service.kill();
  const { code, stderr } = await endOf(command);
  expect(stderr).toContain('vectord import failed: ');
  expect(code).toBe(1);
  await service.startAgain();
  await expectGoesOn(service.server, path);
});

test(
  'other options than those it began with are refused, and --restart begins anew',
  PATIENCE,
  async () => {
    const server = await startServer(SLOW);
    const path = source();
    const command = begin(server, ['import', path]);
    await untilNoted(command, path);
    expect((await command.stop('SIGTERM')).code).toBe(143);
    const other = await endOf(begin(server, ['import', path, '--content', 'text']));
    expect(other.stderr).toContain('of which options was another');
    expect(other.code).toBe(1);
    const restarted = await endOf(begin(server, ['import', path, '--restart']));
    expect(restarted.stdout).not.toContain('went on');
    await expectWhole(server, path);
  },
);
