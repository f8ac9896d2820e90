import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { idFor, type Client } from '../../src/client/node.js';
import { all, id, open } from '../client/open.js';
import { startServer, type TestServer } from '../support/server.js';
import { begin, endOf, fileOf, npy, run } from './command.js';

const VECTOR = [1, 2, 3, 4];
const DONE = { code: 0, stderr: '' };

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer({ env: { MAX_CONTENT_BYTES: '1000' } });
  client = open(server, 'http');
});

beforeEach(async () => {
  await client.deleteAll(await client.count());
});

async function points() {
  return await all(client.scroll({ include: ['vector', 'content', 'metadata'] }));
}

function lines(...rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** The rejected rows by their numbers. */
function rejectsOf(path: string): Record<string, string> {
  const texts = readFileSync(`${path}.rejected.jsonl`, 'utf8').trimEnd().split('\n');
  const rows = texts.map((text) => JSON.parse(text) as { row: number; reason: string });
  return Object.fromEntries(rows.map(({ row, reason }) => [row, reason]));
}

describe('ids', () => {
  test('a UUID is kept, another id and none at all become UUIDs, so that a repeat stores nothing twice', async () => {
    const rows = [
      { id: id(7).toUpperCase(), vector: VECTOR },
      { id: 'doc-1', vector: VECTOR },
      { id: 17, vector: VECTOR },
      { vector: VECTOR },
    ];
    const path = fileOf('named.jsonl', lines(...rows));
    expect(await run(server, 'import', path)).toMatchObject({
      ...DONE,
      stdout: '4 points stored, 0 replaced, 0 rows rejected\n',
    });
    const ids = [id(7), idFor('doc-1'), idFor('17'), idFor('named.jsonl#4')];
    expect((await points()).map((point) => point.id)).toEqual(ids);
    expect(await run(server, 'import', path)).toMatchObject({
      ...DONE,
      stdout: '0 points stored, 4 replaced, 0 rows rejected\n',
    });
    expect(await run(server, 'import', path, '--if-absent')).toMatchObject({
      ...DONE,
      stdout: '0 points stored, 0 replaced, 4 kept as they were, 0 rows rejected\n',
    });
  });

  test('a name of the source tells rows without ids from those of another file', async () => {
    const path = fileOf('same.jsonl', lines({ vector: VECTOR }));
    await run(server, 'import', path);
    await run(server, 'import', path, '--source-name', 'other');
    const ids = (await points()).map((point) => point.id);
    expect(ids).toEqual([idFor('same.jsonl#1'), idFor('other#1')]);
  });
});

describe('columns', () => {
  test('of JSON are mapped, and fields of metadata are taken as they are', async () => {
    const row = { key: 'a', emb: VECTOR, body: 'text', year: 2024, tags: ['x'], skip: { deep: 1 } };
    const path = fileOf('mapped.jsonl', lines(row));
    const mapping = ['--id', 'key', '--vector', 'emb', '--content', 'body'];
    const fields = ['--metadata-columns', 'year,tags,absent'];
    expect(await run(server, 'import', path, ...mapping, ...fields)).toMatchObject(DONE);
    const metadata = { year: 2024, tags: ['x'] };
    const vector = Float32Array.from(VECTOR);
    expect(await points()).toEqual([{ id: idFor('a'), vector, content: 'text', metadata }]);
  });

  test('of CSV may be one for each value, in the order of their numbers, with types of the fields', async () => {
    const header = 'dim_10,dim_2,dim_0,dim_1,title,year,zip,ok,none,more\r\n';
    const record = '4,3,1,2,"a ""b"",\nc",2024,01234,TRUE,,"[1,2]"\r\n';
    const path = fileOf('table.csv', `\uFEFF${header}${record}`);
    const columns = 'year:number,zip,ok:boolean,none:number,more:json';
    const command = ['import', path, '--vector-columns', 'dim_*', '--content', 'title'];
    expect(await run(server, ...command, '--metadata-columns', columns)).toMatchObject(DONE);
    const [point] = await points();
    expect(point).toMatchObject({
      vector: Float32Array.from(VECTOR),
      content: 'a "b",\nc',
      metadata: { year: 2024, zip: '01234', ok: true, more: [1, 2] },
    });
  });

  test.each([
    [';', ';', "id;vector (--delimiter ';' may separate them)"],
    ['\t', 'tab', 'id\\u0009vector (--delimiter tab may separate them)'],
    ['\t', '\\t', 'id\\u0009vector (--delimiter tab may separate them)'],
  ])('may be separated by %j, given as %s', async (separator, given, hint) => {
    const path = fileOf('table.csv', 'id;vector\nx;[1,2,3,4]\n'.replaceAll(';', separator));
    const { stderr } = await run(server, 'import', path);
    expect(stderr).toContain(`has no column "vector"; it has ${hint}`);
    expect(await run(server, 'import', path, '--delimiter', given)).toMatchObject(DONE);
    expect((await points()).map((point) => point.id)).toEqual([idFor('x')]);
  });

  test('of CSV may hold vectors as pandas writes NumPy, and as PostgreSQL writes arrays', async () => {
    const good = ['[1. 2. 3.\n 4.e+00]', '{1,2,3,4}'];
    const cells = [...good, '[1 2 ... 4]', '[1,2,3,nan]', '[1,2 3,4]', '[0x1 2 3 4]'];
    const path = fileOf('t.csv', `vector\n${cells.map((cell) => `"${cell}"\n`).join('')}`);
    const { stdout } = await run(server, 'import', path);
    expect(stdout).toContain('2 points stored, 0 replaced, 4 rows rejected\n');
    const vectors = (await points()).map(({ vector }) => vector);
    expect(vectors).toEqual([Float32Array.from(VECTOR), Float32Array.from(VECTOR)]);
    expect(rejectsOf(path)).toEqual({
      3: expect.stringMatching(/^the vector is cut short by "\.\.\.": write it by/) as string,
      4: 'vector[3] is a text, expected a number',
      5: 'vector[1] is a text, expected a number',
      6: 'vector[0] is a text, expected a number',
    });
  });

  test('of .tsv are separated by tabs', async () => {
    const path = fileOf('table.tsv', 'id\tvector\nx\t[1,2,3,4]\n');
    expect(await run(server, 'import', path)).toMatchObject(DONE);
    expect((await points()).map((point) => point.id)).toEqual([idFor('x')]);
  });

  test('of numbers may have NaN where nothing is, which is left out on request', async () => {
    const path = fileOf('table.csv', 'vector,year,name\n"[1,2,3,4]",NaN,nan\n');
    const command = ['import', path, '--metadata-columns', 'year:number,name'];
    expect(await run(server, ...command)).toMatchObject({ code: 1 });
    expect(rejectsOf(path)).toEqual({
      1: 'year is NaN, expected a number: --nan empty leaves such cells out',
    });
    expect(await run(server, ...command, '--nan', 'empty')).toMatchObject(DONE);
    expect((await points()).map(({ metadata }) => metadata)).toEqual([{ name: 'nan' }]);
  });

  test.each([
    ['table.xlsx', 'pandas.read_excel(FILE).to_csv("FILE.csv")'],
    ['frame.pkl', 'pandas.read_pickle(FILE).to_parquet("FILE.parquet")'],
    ['arrays.npz', 'numpy.load(FILE)["NAME"]'],
    ['list.json', 'jq -c ".[]" FILE'],
  ])('of %s are not read, and how to make a file that is read', async (name, remedy) => {
    const { code, stderr } = await run(server, 'import', fileOf(name, 'any'));
    expect(stderr).toContain(remedy);
    expect(code).toBe(2);
  });

  test('of a type that is none are refused with those that are', async () => {
    const path = fileOf('table.csv', 'vector,n\n"[1,2,3,4]",1\n');
    const { code, stderr } = await run(server, 'import', path, '--metadata-columns', 'n:int');
    expect(stderr).toContain('no column "n:int"; it has vector, n (types behind a name are text, ');
    expect(code).toBe(1);
  });

  test('that are missing are named before anything is stored', async () => {
    const path = fileOf('table.csv', 'id,vector\na,"[1,2,3,4]"\n');
    expect(await run(server, 'import', path, '--content', 'text')).toMatchObject({
      code: 1,
      stderr: `vectord import failed: ${path} has no column "text"; it has id, vector\n`,
    });
    expect(await client.count()).toBe(0);
  });
});

describe('texts beside vectors', () => {
  const vectors = npy('<f4', '(2, 4)', Buffer.from(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8).buffer));

  test('are the contents, a line for each row', async () => {
    const path = fileOf('v.npy', vectors);
    const texts = fileOf('texts.txt', 'first\r\n\n');
    expect(await run(server, 'import', path, '--texts', texts)).toMatchObject(DONE);
    expect((await points()).map(({ content }) => content)).toEqual(['first', '']);
  });

  test('may be JSON with ids and metadata', async () => {
    const path = fileOf('v.npy', vectors);
    const texts = fileOf('texts.jsonl', lines({ id: 'a', text: 'x' }, { id: 'b', n: 1 }));
    const options = ['--texts', texts, '--content', 'text', '--metadata-columns', 'n'];
    expect(await run(server, 'import', path, ...options)).toMatchObject(DONE);
    expect(await all(client.scroll({ include: ['content', 'metadata'] }))).toEqual([
      { id: idFor('a'), content: 'x', metadata: {} },
      { id: idFor('b'), content: '', metadata: { n: 1 } },
    ]);
  });

  const fvecs = Buffer.concat(
    [1, 2].map(() => Buffer.concat([Buffer.from([4, 0, 0, 0]), Buffer.alloc(16)])),
  );

  test.each([
    ['v.npy', vectors],
    ['v.npy.gz', gzipSync(vectors)],
    ['v.fvecs', fvecs],
  ])('of another number of lines than %s has rows are refused at once', async (name, bytes) => {
    const path = fileOf(name, bytes);
    const wrong = [
      ['one', 1],
      ['one\ntwo\nthree', 3],
      ['1\n2\n3\n', 3],
    ] as const;
    for (const [text, count] of wrong) {
      const texts = fileOf('texts.txt', text);
      const { code, stderr } = await run(server, 'import', path, '--texts', texts);
      expect(stderr).toContain(`${texts} has ${count} lines and there are 2 vectors, expected`);
      expect(code).toBe(1);
    }
    expect(await client.count()).toBe(0);
    const right = ['--texts', fileOf('texts.txt', 'one\ntwo')];
    expect(await run(server, 'import', path, ...right)).toMatchObject(DONE);
  });

  test.each([
    ['one\n', 'ends before row 2 of the vectors'],
    ['one\ntwo\nthree\n', 'has more lines than there are vectors (2)'],
  ])('of which nobody knows the number are refused where they end: %j', async (text, message) => {
    const unknown = [
      [fileOf('v.npy', vectors), fileOf('texts.txt.gz', gzipSync(text))],
      [fileOf('v.fvecs.gz', gzipSync(fvecs)), fileOf('texts.txt', text)],
    ] as const;
    for (const [path, texts] of unknown) {
      const { code, stderr } = await run(server, 'import', path, '--texts', texts);
      expect(stderr).toContain(message);
      expect(code).toBe(1);
    }
  });
});

describe('bad rows', () => {
  test('are listed by number and reason, and all others are stored', async () => {
    const good = { vector: VECTOR };
    const rows = [
      JSON.stringify(good),
      '{"vector": [1, 2',
      '',
      JSON.stringify({ vector: [1, 2, 3] }),
      JSON.stringify({ vector: [1, 2, 3, 1e39] }),
      JSON.stringify({ vector: [1, 2, 3, 'x'] }),
      JSON.stringify({ ...good, content: 'x'.repeat(1001) }),
      JSON.stringify({ ...good, metadata: { deep: { er: 1 } } }),
      JSON.stringify({ ...good, metadata: { mixed: [1, 'a'] } }),
      JSON.stringify({ ...good, metadata: { $eq: 1 } }),
      JSON.stringify({ ...good, metadata: { long: 'x'.repeat(70_000) } }),
      JSON.stringify({ ...good, content_type: 'Video' }),
      JSON.stringify({ ...good, id: '00000000-0000-0000-0000-000000000000' }),
      '{"vector": [1,2,3,4], "content": "\\ud800"}',
      '{}',
      '[]',
      JSON.stringify({ vector: 'AACAPw==' }),
      JSON.stringify(good),
    ];
    const bytes = Buffer.concat([Buffer.from(`${rows.join('\n')}\n`), Buffer.from([0xff, 0x0a])]);
    const path = fileOf('bad.jsonl', bytes);
    expect(await run(server, 'import', path)).toMatchObject({
      code: 1,
      stderr: '',
      stdout:
        '2 points stored, 0 replaced, 16 rows rejected\n' +
        `row 2 was rejected: ${rejectsOf(path)['2']}\n` +
        `rejected rows, with reasons: ${path}.rejected.jsonl\n`,
    });
    expect(rejectsOf(path)).toEqual({
      2: expect.stringMatching(/^the line is no JSON: /) as string,
      4: 'the vector has 3 values, expected 4',
      5: 'vector[3] is not finite in single precision',
      6: 'vector[3] is a text, expected a number',
      7: 'the content has 1001 bytes, expected at most 1000',
      8: expect.stringContaining('metadata.deep is an Object') as string,
      9: 'metadata.mixed is a list of several kinds of values, expected one kind',
      10: 'a key of the metadata begins with "$"',
      11: 'the metadata has 70011 bytes, expected at most 65536',
      12: 'the content type is neither Text nor Image',
      13: 'the id is the nil UUID, which no point can have',
      14: 'the content has a half of a surrogate pair, expected well-formed Unicode',
      15: 'has no vector',
      16: 'the line is not an object of JSON',
      17: 'the vector has 1 values, expected 4',
      19: 'the line is not in UTF-8',
    });
    expect(await client.count()).toBe(2);
    // The file is mended: nothing is rejected, and the list is gone.
    writeFileSync(path, lines(good));
    expect(await run(server, 'import', path)).toMatchObject(DONE);
    expect(existsSync(`${path}.rejected.jsonl`)).toBe(false);
  });

  test('are told at once where all vectors have another length', async () => {
    const rows = Array.from({ length: 1_000 }, () => ({ vector: [1, 2, 3] }));
    const path = fileOf('long.jsonl', lines(...rows));
    const { code, stderr } = await run(server, 'import', path);
    expect(stderr).toContain(
      'the file has vectors of 3 values, and the service takes 4: a service with an empty folder ' +
        'takes them if it is started with DIMENSION=3',
    );
    expect(code).toBe(1);
    expect(Object.keys(rejectsOf(path)).length).toBeLessThan(10);
  });

  test('are those with a key that comes twice, a list with null, or an id that is a float', async () => {
    const path = fileOf(
      'odd.jsonl',
      [
        '{"vector": [1,2,3,4], "content": "a", "content": "b"}',
        '{"vector": [1,2,3,4], "metadata": {"k\\u0061": 1, "ka": 2}}',
        '{"vector": [1,2,3,4], "metadata": {"id": "\\": {", "l": [1, null]}}',
        '{"vector": [1,2,3,4], "id": "NaN"}',
        '{"vector": [1,2,3,4], "id": "1.0"}',
        '{"vector": [1,2,3,4], "id": "1.5", "metadata": {"id": 1, "content": "vector"}}',
        '{"vector": [1,2,3,4], "p": NaN}',
        '',
      ].join('\n'),
    );
    const float =
      'a float: pandas makes floats of whole numbers where some are missing; write ids as';
    expect(await run(server, 'import', path)).toMatchObject({ code: 1, stderr: '' });
    expect(rejectsOf(path)).toEqual({
      1: 'the key "content" comes twice',
      2: 'the key "ka" comes twice',
      3: 'metadata.l[1] is null, expected a value: leave it out',
      4: expect.stringContaining(`the id is NaN, ${float}`) as string,
      5: expect.stringContaining(`the id is 1.0, ${float}`) as string,
      7: 'the line is no JSON: it has NaN',
    });
    expect((await points()).map((point) => point.id)).toEqual([idFor('1.5')]);
  });

  test('columns that no point is made of are named', async () => {
    const path = fileOf('other.jsonl', lines({ vector: VECTOR, text: 'a', year: 1 }));
    const { code, stdout } = await run(server, 'import', path, '--metadata-columns', 'year');
    expect(stdout).toContain('columns that were not stored: text (--content, ');
    expect(code).toBe(0);
  });

  test('stop the import if there are too many, which then goes on behind the last good one', async () => {
    const rows = [VECTOR, [], VECTOR, [], VECTOR, [], VECTOR];
    const path = fileOf('bad.jsonl', lines(...rows.map((vector) => ({ vector }))));
    expect(await run(server, 'import', path, '--max-rejects', '1')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('stopped behind row 3, since too many') as unknown,
    });
    expect(await client.count()).toBe(2);
    const { code, stdout } = await run(server, 'import', path, '--max-rejects', '9');
    expect(stdout).toContain('went on behind row 3');
    expect(stdout).toContain('2 points stored, 0 replaced, 3 rows rejected');
    expect(code).toBe(1);
    expect(Object.keys(rejectsOf(path))).toEqual(['2', '4', '6']);
    expect(existsSync(`${path}.vectord-import.json`)).toBe(false);
  });

  test('are not listed in a file that holds something else', async () => {
    const path = fileOf('good.jsonl', lines({ vector: VECTOR }));
    const precious = fileOf('notes.txt', 'mine');
    const ended = await run(server, 'import', path, '--rejects', precious);
    expect(ended.stderr).toContain('holds something else than rejected rows');
    expect([ended.code, readFileSync(precious, 'utf8')]).toEqual([1, 'mine']);
  });
});

test('a file of another dimension than that of the service is refused with what to do', async () => {
  const path = fileOf('wide.npy', npy('<f4', '(1, 2)', Buffer.alloc(8)));
  expect(await run(server, 'import', path)).toMatchObject({
    code: 1,
    stderr:
      'vectord import failed: the file has vectors of 2 values, and the service takes 4: a ' +
      'service with an empty folder takes them if it is started with DIMENSION=2\n',
  });
});

test('a quote of CSV that cannot be read ends the import, since what follows is not known', async () => {
  const path = fileOf('broken.csv', 'id,vector\na,"[1,2,3,4]"\nb,"[1"2\n');
  const { code, stderr } = await run(server, 'import', path);
  expect(stderr).toContain(`${basename(path)} is no CSV around line 3`);
  expect(code).toBe(1);
});

test('a record of CSV with too many cells is rejected, and those beside it are stored', async () => {
  const path = fileOf('uneven.csv', 'id,vector\na,"[1,2,3,4]"\nb,"[1,2,3,4]",x\nc,"[1,2,3,4]"\n');
  expect((await run(server, 'import', path)).code).toBe(1);
  expect(rejectsOf(path)).toEqual({ 2: '3 cells, expected 2 by the header' });
  expect(await client.count()).toBe(2);
});

test.each([
  [['nothing.jsonl'], 1, 'nothing.jsonl cannot be read'],
  [['LICENSE'], 2, 'the name does not tell the format'],
  [['package.json', '--format', 'jsonl', '--texts', 'LICENSE'], 2, '--texts is for npy'],
  [['x.csv', '--vector-columns', 'dim'], 2, 'expected one * in it'],
  [['x.csv', '--max-rejects', '-1'], 2, 'Expected a whole number'],
  [['x.csv', '--delimiter', ''], 2, 'It is empty, expected a character or tab'],
  [['x.csv', '--colour'], 2, "unknown option '--colour'"],
  [['x.csv', '--key-file', 'nothing'], 1, 'nothing cannot be read'],
  [['x.csv', '--ca-file', 'LICENSE'], 2, '--ca-file is given for grpc://'],
  [['x.csv', '--ca-file', 'nothing'], 1, 'nothing (--ca-file) cannot be read'],
  [[], 2, "missing required argument 'FILE'"],
])('import %j ends with %i', async (args, exitCode, message) => {
  const { code, stderr } = await run(server, 'import', ...args);
  expect(stderr).toContain(message);
  expect(code).toBe(exitCode);
});

test.each(['grpc', 'http'])(
  'where nobody listens over %s, it says so, and what to do',
  async (protocol) => {
    const path = fileOf('one.jsonl', lines({ vector: VECTOR }));
    const url = `${protocol}://127.0.0.1:4`;
    expect(await endOf(begin(server, ['import', path], url))).toMatchObject({
      code: 1,
      stderr:
        'vectord import failed: no answer came from the service: connect ECONNREFUSED ' +
        `127.0.0.1:4 (is it running at ${url}? --url names another address)\n`,
    });
  },
);

test.each([
  ['localhost:3000', [], '--url is "localhost:3000", expected an address such as'],
  [
    'grpcs://127.0.0.1:4',
    ['--ca-file', 'LICENSE'],
    '--ca-file cannot be used: it has no -----BEGIN',
  ],
])('%s with %j is refused by the name of the option', async (url, options, message) => {
  const { code, stderr } = await endOf(begin(server, ['import', 'x.csv', ...options], url));
  expect(stderr).toContain(`vectord import failed: ${message}`);
  expect(code).toBe(2);
});

test('a key that is not known is named by where it comes from', async () => {
  const path = fileOf('one.jsonl', lines({ vector: VECTOR }));
  const key = fileOf('key.txt', 'no-such-key\n');
  const { code, stderr } = await run(server, 'import', path, '--key-file', key);
  expect(stderr).toContain('VECTORD_KEY or --key-file has the key');
  expect(code).toBe(1);
});

describe('files that are in the way', () => {
  test.each(['--state', '--rejects'])(
    '%s leaves a file of something else alone',
    async (option) => {
      const path = fileOf('mine.jsonl', lines({ vector: VECTOR }, { vector: [] }));
      const mine = fileOf('notes.txt', 'mine\n');
      const { code, stderr } = await run(server, 'import', path, option, mine, '--restart');
      expect(stderr).toContain(`${mine} exists and holds something else`);
      expect(code).toBe(1);
      expect(readFileSync(mine, 'utf8')).toBe('mine\n');
    },
  );

  test('no file has two parts', async () => {
    const path = fileOf('parts.jsonl', '{"row": 1, "vector": [1, 2, 3, 4]}\n');
    for (const option of ['--state', '--rejects']) {
      const { code, stderr } = await run(server, 'import', path, option, path);
      expect(stderr).toContain(`FILE and ${option} are one file`);
      expect(code).toBe(2);
    }
    expect(readFileSync(path, 'utf8')).toContain('"row"');
  });

  test('an import whose rejects are gone says what to do', async () => {
    const rows = [VECTOR, [], VECTOR, []].map((vector) => ({ vector }));
    const path = fileOf('gone.jsonl', lines(...rows));
    const first = await run(server, 'import', path, '--max-rejects', '1');
    expect(first.stdout).toContain('the same command with a greater --max-rejects goes on');
    rmSync(`${path}.rejected.jsonl`);
    const second = await run(server, 'import', path, '--max-rejects', '9');
    expect(second.stderr).toContain('put it back, or begin anew with --restart');
    const third = await run(server, 'import', path, '--max-rejects', '9', '--restart');
    expect(third.stdout).toContain('2 rows rejected');
  });
});

describe('whole numbers beyond 2^53', () => {
  const reason = (name: string): unknown =>
    expect.stringContaining(`${name} is a whole number beyond 2^53: give it as a text`);

  test('are kept as ids and as texts, and are no metadata, unless they are written as doubles', async () => {
    const rows = [
      '"id": 1234567890123456781',
      '"id": 1.5e17',
      '"metadata": {"n": 9007199254740993}',
      '"metadata": {"n": [1, -12345678901234567890]}',
      '"metadata": "{\\"n\\": 9007199254740993}"',
      '"metadata": {"n": 9007199254740992, "m": 1.5e17, "t": "\\"9007199254740993"}, "key": 2e16',
      '"key": 9007199254740993, "big": 9007199254740993',
    ].map((members) => `{"vector": [1, 2, 3, 20000000000000001], ${members}}\n`);
    const path = fileOf('digits.jsonl', rows.join(''));
    const columns = ['--metadata-columns', 'key:text'];
    expect((await run(server, 'import', path, ...columns)).code).toBe(1);
    expect(rejectsOf(path)).toEqual({
      2: reason('the id'),
      3: reason('metadata.n'),
      4: reason('metadata.n'),
      5: reason('metadata.n'),
    });
    const vector = Float32Array.of(1, 2, 3, 2e16);
    const rest = { vector, content: '' };
    const metadata = { n: 2 ** 53, m: 1.5e17, t: '"9007199254740993', key: '20000000000000000' };
    expect(await points()).toEqual([
      { id: idFor('1234567890123456781'), ...rest, metadata: {} },
      { id: idFor('digits.jsonl#6'), ...rest, metadata },
      { id: idFor('digits.jsonl#7'), ...rest, metadata: { key: '9007199254740993' } },
    ]);
  });

  const table = 'vector,n\n"[1,2,3,4]",9007199254740993\n';

  test.each(['json', 'number'])('are refused in a cell of CSV of the type %s', async (type) => {
    const path = fileOf('digits.csv', table);
    const { code } = await run(server, 'import', path, '--metadata-columns', `n:${type}`);
    expect([code, rejectsOf(path)]).toEqual([1, { 1: reason('n') }]);
  });

  test('are a text in a cell of CSV without a type', async () => {
    const path = fileOf('digits.csv', table);
    expect(await run(server, 'import', path, '--metadata-columns', 'n')).toMatchObject(DONE);
    expect(await points()).toMatchObject([{ metadata: { n: '9007199254740993' } }]);
  });
});

test('CSV that is not in UTF-8 is refused', async () => {
  const cells = Buffer.concat([
    Buffer.from('vector,content\n"[1,2,3,4]",caf'),
    Buffer.from([0xe9]),
  ]);
  const path = fileOf('latin.csv', cells);
  const { code, stderr } = await run(server, 'import', path);
  expect(stderr).toContain('latin.csv is not in UTF-8');
  expect(code).toBe(1);
});

test('names of columns cannot act on the terminal', async () => {
  const path = fileOf('evil.csv', 'vector,\u001b]0;title\u0007\n"[1,2,3,4]",x\n');
  const { stdout } = await run(server, 'import', path);
  expect(stdout).toContain('columns that were not stored: \\u001b]0;title\\u0007');
});
