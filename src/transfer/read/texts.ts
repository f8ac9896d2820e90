import type { Columns, Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { ByteReader } from './byte-reader.js';
import { jsonRow } from './json-lines.js';
import { countLines, linesOf, type Line } from './lines.js';

/**
 * Vectors with the lines of a second file beside them, one for each row: objects of JSON in a file
 * that is named .jsonl or .ndjson, else each line as the content.
 */
export async function withTexts(vectors: Source, path: string, content: string): Promise<Source> {
  const [, isJson, isGzip] = /(\.jsonl|\.ndjson)?(\.gz)?$/i.exec(path) ?? [];
  const reader = await ByteReader.open(path, isGzip !== undefined);
  const rowOf = isJson === undefined ? (line: Line) => plainRow(line, content) : jsonRow;
  async function* rows(after: number): AsyncGenerator<Row> {
    // Before any row is there; whoever goes on behind one has the files that were checked.
    if (after === 0 && isGzip === undefined) await checkCount(path, vectors.total);
    const lines = linesOf(path, reader, after);
    let last = after;
    for await (const row of vectors.rows(after)) {
      const { value: line } = await lines.next();
      if (line === undefined) {
        throw new TransferError(
          `${path} ends before row ${row.number} of the vectors, expected a line for each row`,
        );
      }
      const { columns, fault } = rowOf(line);
      yield { number: row.number, columns: { ...columns, ...row.columns }, fault };
      last = row.number;
    }
    if ((await lines.next()).done === true) return;
    throw new TransferError(
      `${path} has more lines than there are vectors (${last}), expected a line for each row`,
    );
  }
  return {
    dimension: vectors.dimension,
    total: vectors.total,
    rows,
    share: () => vectors.share(),
    async close() {
      await vectors.close();
      await reader.close();
    },
  };
}

/** Refuses another number of lines than there are vectors, if that is known. */
async function checkCount(path: string, vectors: number | undefined): Promise<void> {
  if (vectors === undefined) return;
  const lines = await countLines(path);
  if (lines === vectors) return;
  throw new TransferError(
    `${path} has ${lines} lines and there are ${vectors} vectors, expected a line for each row`,
  );
}

function plainRow({ number, text }: Line, content: string): Row {
  const columns: Columns = { [content]: text };
  const fault = text === undefined ? 'the line of its text is not in UTF-8' : undefined;
  return { number, columns, fault };
}
