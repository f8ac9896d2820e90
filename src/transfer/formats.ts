import { UsageError } from './transfer-error.js';

export const FORMATS = ['npy', 'fvecs', 'bvecs', 'jsonl', 'csv', 'parquet', 'arrow'] as const;
export type Format = (typeof FORMATS)[number];

/** What a file is: its format, and whether that lies in gzip. */
export interface FileKind {
  readonly format: Format;
  readonly isGzip: boolean;
}

const EXTENSIONS: ReadonlyMap<string, Format> = new Map([
  ...FORMATS.map((format) => [format, format] as const),
  ['ndjson', 'jsonl'],
  ['feather', 'arrow'],
  ['arrows', 'arrow'],
  ['ipc', 'arrow'],
  ['tsv', 'csv'],
]);

/** What to do with files of other programs. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['pkl', 'pandas.read_pickle(FILE).to_parquet("FILE.parquet") makes a file that is read'],
  ['pickle', 'pandas.read_pickle(FILE).to_parquet("FILE.parquet") makes a file that is read'],
  ['xlsx', 'pandas.read_excel(FILE).to_csv("FILE.csv") makes a file that is read, or save as CSV'],
  ['xls', 'pandas.read_excel(FILE).to_csv("FILE.csv") makes a file that is read, or save as CSV'],
  ['npz', 'numpy.save("FILE.npy", numpy.load(FILE)["NAME"]) makes a file that is read'],
  ['json', 'jq -c ".[]" FILE > FILE.jsonl makes a file that is read, of an array of objects'],
  ['h5', 'numpy.save("FILE.npy", h5py.File(FILE)["NAME"][:]) makes a file that is read'],
  ['hdf5', 'numpy.save("FILE.npy", h5py.File(FILE)["NAME"][:]) makes a file that is read'],
  ['pt', 'numpy.save("FILE.npy", torch.load(FILE).numpy()) makes a file that is read'],
]);

/** These hold their own compression, and are not read from the front to the end. */
const NEVER_GZIP: ReadonlySet<Format> = new Set(['parquet', 'arrow']);

/** By the name of the file; a format that is given overrules its extension. */
export function kindOf(path: string, given?: Format): FileKind {
  const [, stem = '', gz] = /^(.*?)(\.gz)?$/is.exec(path) ?? [];
  const extension = /\.([^./\\]+)$/.exec(stem)?.[1]?.toLowerCase();
  const format = given ?? EXTENSIONS.get(extension ?? '');
  const elsewhere = ELSEWHERE.get(extension ?? '');
  if (format === undefined && elsewhere !== undefined) {
    throw new UsageError(`${path}: .${extension} is not read: ${elsewhere}`);
  }
  if (format === undefined) {
    const known = [...EXTENSIONS.keys()].map((name) => `.${name}`).join(', ');
    throw new UsageError(
      `${path}: the name does not tell the format, expected one of ${known}, ` +
        `or --format with one of ${FORMATS.join(', ')}`,
    );
  }
  const isGzip = gz !== undefined;
  if (isGzip && NEVER_GZIP.has(format)) {
    throw new UsageError(`${path}: ${format} is not read or written in gzip: unpack it first`);
  }
  return { format, isGzip };
}
