import { gzipSync } from 'node:zlib';
import {
  Binary,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  Float16,
  Float32,
  Int32,
  List,
  makeData,
  makeVector,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import {
  ByteWriter,
  ParquetWriter,
  parquetWriteBuffer,
  type SchemaElement,
} from 'hyparquet-writer';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_MAPPING, parseMetadataColumns, valueColumns } from '../../src/transfer/mapping.js';
import type { Row } from '../../src/transfer/row.js';
import { openSource, type SourceOptions } from '../../src/transfer/source.js';
import { all } from '../client/open.js';
import { fileOf, npy } from './command.js';

async function rowsOf(path: string, options: Partial<SourceOptions> = {}, after = 0) {
  const rest = { format: undefined, texts: undefined, delimiter: ',', mapping: DEFAULT_MAPPING };
  const source = await openSource({ path, ...rest, ...options });
  onTestFinished(async () => await source.close());
  return await all(source.rows(after));
}

function vectorsOf(rows: readonly Row[]): unknown[] {
  return rows.map(({ columns }) => Array.from(columns['vector'] as Iterable<unknown>));
}

/** Little-endian bytes of one kind of typed array. */
function bytesOf({ buffer }: { readonly buffer: ArrayBufferLike }): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer);
}

describe('.npy', () => {
  const [wide, narrow] = [
    [1.5, -2, 0, 4],
    [0, 1, 2, 255],
  ];

  test.each([
    ['<f4', bytesOf(Float32Array.from(wide)), wide],
    ['<f8', bytesOf(Float64Array.from(wide)), wide],
    ['<f2', bytesOf(Uint16Array.of(0x3e00, 0xc000, 0x8000, 0x4400)), [1.5, -2, -0, 4]],
    ['|u1', Uint8Array.from(narrow), narrow],
    ['|i1', Int8Array.of(0, 1, -2, -128), [0, 1, -2, -128]],
    ['<u2', bytesOf(Uint16Array.of(0, 1, 2, 65_535)), [0, 1, 2, 65_535]],
    ['<i2', bytesOf(Int16Array.of(0, 1, -2, -32_768)), [0, 1, -2, -32_768]],
    ['<u4', bytesOf(Uint32Array.of(0, 1, 2, 2 ** 31)), [0, 1, 2, 2 ** 31]],
    ['<i4', bytesOf(Int32Array.of(0, 1, -2, -(2 ** 31))), [0, 1, -2, -(2 ** 31)]],
    ['<u8', bytesOf(BigUint64Array.of(0n, 1n, 2n, 2n ** 63n)), [0, 1, 2, 2 ** 63]],
    ['<i8', bytesOf(BigInt64Array.of(0n, 1n, -2n, -(2n ** 63n))), [0, 1, -2, -(2 ** 63)]],
  ])('of the type %s', async (type, data, values) => {
    const bytes = new Uint8Array(data.buffer);
    const rows = await rowsOf(fileOf('v.npy', npy(type, '(2, 2)', bytes)));
    expect(vectorsOf(rows)).toEqual([values.slice(0, 2), values.slice(2)]);
    expect(rows.map(({ number }) => number)).toEqual([1, 2]);
  });

  test('of whole numbers has a fault in each row that 32-bit floats would round', async () => {
    const data = BigInt64Array.of(1n, 2n ** 24n, 2n ** 24n + 1n, 1n);
    const rows = await rowsOf(fileOf('v.npy', npy('<i8', '(2, 2)', bytesOf(data))));
    expect(rows.map(({ fault }) => fault)).toEqual([
      undefined,
      'vector[0] is 16777217, which no 32-bit float has: scale the values first',
    ]);
  });

  test('of half precision has its smallest numbers, infinities and what is no number', async () => {
    const halves = Uint16Array.of(0x0001, 0x03ff, 0x7bff, 0xfc00, 0x7e00, 0x3c01);
    const rows = await rowsOf(fileOf('v.npy', npy('<f2', '(1, 6)', bytesOf(halves))));
    const values = [2 ** -24, 1023 * 2 ** -24, 65_504, -Infinity, Number.NaN, 1 + 2 ** -10];
    expect(vectorsOf(rows)).toEqual([values]);
  });

  test.each([1, 2, 3])(
    'of version %i is begun behind any row, plain and in gzip',
    async (version) => {
      const data = Float32Array.from({ length: 20 }, (_, at) => at);
      const file = npy('<f4', '(10, 2)', bytesOf(data));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(118);
      const start = Buffer.concat([
        file.subarray(0, 8),
        version === 1 ? file.subarray(8, 10) : length,
      ]);
      start.writeUInt8(version, 6);
      const bytes = Buffer.concat([start, file.subarray(10)]);
      for (const path of [fileOf('v.npy', bytes), fileOf('v.npy.gz', gzipSync(bytes))]) {
        const rows = await rowsOf(path, {}, 8);
        expect(vectorsOf(rows)).toEqual(
          [data.slice(16, 18), data.slice(18)].map((one) => [...one]),
        );
        expect(rows.map(({ number }) => number)).toEqual([9, 10]);
      }
    },
  );

  const values = Buffer.alloc(16);
  test.each([
    [npy('>f4', '(2, 2)', values), 'values of the type >f4'],
    [npy('<c8', '(1, 2)', values), 'values of the type <c8'],
    [npy('<f4', '(2, 2)', values, 'True'), 'in the order of Fortran'],
    [npy('<f4', '(4,)', values), 'has (4,), expected two dimensions'],
    [npy('<f4', '(1, 2, 2)', values), 'has (1, 2, 2), expected two dimensions'],
    [npy('<f4', '(3, 2)', values), 'has 144 bytes, expected 152 by its header: it was cut off'],
    [npy('<f4', '(2, 2)', values).fill(9, 6, 7), 'of version 9'],
    [Buffer.from('id,vector\n1,[1]\n'), 'does not begin as a .npy file does'],
    [Buffer.from('\x93NUMPY\x01\x00\xff\xff', 'latin1'), 'a header that cannot be read'],
  ])('that cannot be read is refused: %#', async (bytes, message) => {
    await expect(rowsOf(fileOf('v.npy', bytes))).rejects.toThrow(message);
  });
});

describe('.fvecs and .bvecs', () => {
  const two = Buffer.from([2, 0, 0, 0, 7, 255, 2, 0, 0, 0, 1, 2]);

  test('hold floats and bytes, each row behind its length', async () => {
    expect(vectorsOf(await rowsOf(fileOf('v.bvecs', two)))).toEqual([
      [7, 255],
      [1, 2],
    ]);
    expect(vectorsOf(await rowsOf(fileOf('v.bvecs.gz', gzipSync(two)), {}, 1))).toEqual([[1, 2]]);
    const floats = Buffer.concat([Buffer.from([1, 0, 0, 0]), bytesOf(Float32Array.of(0.5))]);
    expect(vectorsOf(await rowsOf(fileOf('v.fvecs', floats)))).toEqual([[0.5]]);
  });

  test.each([
    [two.subarray(0, 11), 'in the middle of a vector'],
    [two.subarray(0, 8), 'in the middle of a vector'],
    [Buffer.alloc(8), 'row 1 claims 0 values'],
    [Buffer.alloc(8, 255), 'row 1 claims -1 values'],
  ])('that are cut off or damaged are refused: %#', async (bytes, message) => {
    await expect(rowsOf(fileOf('v.bvecs', bytes))).rejects.toThrow(message);
  });
});

describe('.jsonl', () => {
  test('has texts of any length in a line', async () => {
    const text = `"${'x'.repeat(20_000_000)}`;
    const rows = await rowsOf(fileOf('v.jsonl', JSON.stringify({ vector: [1], content: text })));
    expect(rows.map(({ fault }) => fault)).toEqual([undefined]);
    expect(rows[0]?.columns['content'] === text).toBe(true);
  });

  test('lines end by any end of a line or none, may be blank, and keep their numbers', async () => {
    const text = '\uFEFF{"a": 1}\r\n\n   \n{"a": 4}\n{"a": 5}';
    const rows = await rowsOf(fileOf('v.jsonl', text));
    expect(rows.map(({ number, columns }) => [number, columns['a']])).toEqual([
      [1, 1],
      [4, 4],
      [5, 5],
    ]);
    expect(await rowsOf(fileOf('v.jsonl', text), {}, 4)).toEqual(rows.slice(2));
    expect(await rowsOf(fileOf('v.jsonl', text), {}, 5)).toEqual([]);
  });

  test('lines may be longer than what is read at one time', async () => {
    const [long, short] = ['é'.repeat(1_500_000), 'x'];
    const text = [long, short, long].map((a) => JSON.stringify({ a })).join('\n');
    const rows = await rowsOf(fileOf('v.jsonl', text));
    expect(rows.map(({ columns }) => columns['a'])).toEqual([long, short, long]);
    expect((await rowsOf(fileOf('v.jsonl', text), {}, 1)).map(({ number }) => number)).toEqual([
      2, 3,
    ]);
  });

  test('in a gzip that was cut off are refused', async () => {
    const path = fileOf('v.jsonl.gz', gzipSync('{"a": 1}\n').subarray(0, 12));
    await expect(rowsOf(path)).rejects.toThrow(`${path} cannot be read: unexpected end of file`);
  });
});

describe('files of pyarrow', () => {
  const mapping = {
    ...DEFAULT_MAPPING,
    content: 'text',
    metadataColumns: parseMetadataColumns('year,tags'),
  };

  test.each(['zstd.parquet', 'dictionary.feather'])('%s', async (name) => {
    const path = fileURLToPath(new URL(`files/${name}`, import.meta.url));
    const rows = await rowsOf(path, { mapping });
    expect(vectorsOf(rows)).toEqual([
      [1, 2, 3, 4],
      [0.5, -0.25, 0, 8],
      [9, 9, 9, 9],
    ]);
    expect(rows.map(({ columns }) => [columns['id'], columns['text'], columns['year']])).toEqual([
      ['a', 'one', 2024n],
      ['b', 'two', 2025n],
      ['c', null, null],
    ]);
    expect(Object.keys(rows[0]?.columns ?? {})).not.toContain('unused');
    expect((await rowsOf(path, { mapping }, 1)).map(({ number }) => number)).toEqual([2, 3]);
  });

  test.each([
    ['zstd.parquet', 'day', 'TIMESTAMP'],
    ['zstd.parquet', 'unused', 'BYTE_ARRAY'],
    ['dictionary.feather', 'day', 'Timestamp<MICROSECOND>'],
    ['dictionary.feather', 'unused', 'Binary'],
  ])('%s: the column "%s" is refused if it is asked for', async (name, column, type) => {
    const path = fileURLToPath(new URL(`files/${name}`, import.meta.url));
    const other = { ...mapping, metadataColumns: parseMetadataColumns(column) };
    await expect(rowsOf(path, { mapping: other })).rejects.toThrow(
      `${path}: the column "${column}" is of the type ${type}, expected strings, booleans, ` +
        'integers, floats, or lists of these: cast it where the file is made, as to a string',
    );
  });

  test('that are compressed by LZ4 are refused with what to do', async () => {
    const path = fileURLToPath(new URL('files/lz4.feather', import.meta.url));
    await expect(rowsOf(path, { mapping })).rejects.toThrow('compression="uncompressed"');
  });

  test.each(['parquet', 'arrow'])('that are none are refused: .%s', async (extension) => {
    const path = fileOf(`v.${extension}`, 'nothing of that kind');
    await expect(rowsOf(path)).rejects.toThrow(/^.* cannot be read as (Parquet|Arrow): /);
  });
});

test('columns of single values come in the order of their numbers', () => {
  const columns = ['v10_x', 'v2_x', 'v_x', 'v1_y', 'v01_x', 'v1'];
  expect(valueColumns('v*_x', columns)).toEqual(['v01_x', 'v2_x', 'v10_x']);
  expect(valueColumns('*', ['1', '0', 'x'])).toEqual(['0', '1']);
  expect(valueColumns('aba*', ['ab0', 'aba'])).toEqual([]);
});

test('columns of metadata may have a type behind their names', () => {
  expect(parseMetadataColumns('a,b:number,c:d')).toEqual([
    { name: 'a', type: undefined },
    { name: 'b', type: 'number' },
    { name: 'c:d', type: undefined },
  ]);
});

test.each([
  [new Float16(), [1.5, -2, 0, 4]],
  [new Float32(), [1.5, null, 0, 4]],
])('a list of Arrow has the values of its type %s, and its nulls', async (type, values) => {
  const vector = vectorFromArray([values], new List(new Field('item', type, true)));
  const path = fileOf('lists.arrow', Buffer.from(tableToIPC(new Table({ vector }), 'file')));
  expect(vectorsOf(await rowsOf(path))).toEqual([values]);
});

/** A file of Arrow with one vector for each column. */
function arrow(columns: Readonly<Record<string, Vector>>): string {
  return fileOf('table.arrow', Buffer.from(tableToIPC(new Table(columns), 'file')));
}

/** A file of Parquet with a column of texts. */
function parquet(name: string, data: Uint8Array[]): string {
  const element = { name, type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  const schema = [
    { name: 'root', num_children: 1 },
    { ...element, repetition_type: 'REQUIRED' as const },
  ];
  const file = parquetWriteBuffer({ schema, columnData: [{ name, data }] });
  return fileOf('table.parquet', new Uint8Array(file));
}

describe('texts in the bytes of a table', () => {
  const bytes = [Buffer.from('\uFEFFa'), Buffer.from([0x61, 0xff]), Buffer.from('é')];
  const texts = vectorFromArray(bytes, new Binary()).data.map((one) => one.clone(new Utf8()));
  const [child] = texts as [Data<Utf8>];
  const list = new List(new Field('item', new Utf8(), true));
  const valueOffsets = Int32Array.of(0, 1, 2, 3);
  const type = new Dictionary(new Utf8(), new Int32());
  const data = Int32Array.of(0, 1, 2);
  const lists = makeData({ type: list, length: 3, valueOffsets, child });
  const repeated = makeData({ type, data, dictionary: makeVector(texts) });

  test.each([
    ['Parquet', parquet('content', bytes), ['\uFEFFa', 'é']],
    ['Arrow', arrow({ content: makeVector(texts) }), ['\uFEFFa', 'é']],
    ['a dictionary of Arrow', arrow({ content: makeVector(repeated) }), ['\uFEFFa', 'é']],
    ['a list of Arrow', arrow({ content: makeVector(lists) }), [['\uFEFFa'], ['é']]],
  ])('are read as they are from %s, or their row is rejected', async (_, path, expected) => {
    const mapping = { ...DEFAULT_MAPPING, vector: 'content' };
    const rows = await rowsOf(path, { mapping });
    expect([rows[0]?.columns['content'], rows[2]?.columns['content']]).toEqual(expected);
    expect(rows.map(({ fault }) => fault)).toEqual([
      undefined,
      'the column "content" is not in UTF-8',
      undefined,
    ]);
  });
});

describe('columns that no point can be made of are refused', () => {
  const decimal = new Decimal(2, 4);
  const item = (type: DataType) => new Field('item', type, true);

  test.each<[string, DataType]>([
    ['Decimal[4e+2]', decimal],
    ['FixedSizeBinary[16]', new FixedSizeBinary(16)],
    ['Date32<DAY>', new DateDay()],
    ['Struct<{item:Utf8}>', new Struct([item(new Utf8())])],
    ['List<Decimal[4e+2]>', new List(item(decimal))],
    ['List<List<Utf8>>', new List(item(new List(item(new Utf8()))))],
  ])('of the type %s', async (name, type) => {
    const bytes = tableToIPC(new Table(new Schema([new Field('id', type, true)])), 'file');
    const path = fileOf('table.arrow', Buffer.from(bytes));
    await expect(rowsOf(path)).rejects.toThrow(`the column "id" is of the type ${name}, expected`);
  });

  const root: SchemaElement = { name: 'root', num_children: 1 };
  const list = [
    { name: 'id', converted_type: 'LIST', num_children: 1, repetition_type: 'OPTIONAL' },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
  ] as const;
  const fixed = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const;
  const decimals = { type: 'INT32', converted_type: 'DECIMAL', scale: 2, precision: 4 } as const;

  test.each<[string, SchemaElement[]]>([
    ['DECIMAL', [{ name: 'id', ...decimals }]],
    ['UUID', [{ name: 'id', ...fixed, logical_type: { type: 'UUID' } }]],
    ['INT96', [{ name: 'id', type: 'INT96' }]],
    [
      'STRUCT',
      [
        { name: 'id', num_children: 1 },
        { name: 'a', type: 'INT32' },
      ],
    ],
    ['DECIMAL', [...list, { name: 'element', ...decimals }]],
    ['LIST', [...list, { ...list[0], name: 'element' }, list[1], { name: 'e', type: 'INT32' }]],
  ])('of the type %s of Parquet: %#', async (name, elements) => {
    const writer = new ByteWriter();
    new ParquetWriter({ writer, schema: [root, ...elements] }).finish();
    const path = fileOf('table.parquet', writer.getBytes());
    await expect(rowsOf(path)).rejects.toThrow(`the column "id" is of the type ${name}, expected`);
  });
});
