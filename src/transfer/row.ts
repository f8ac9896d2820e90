/** What a row holds, by the names of its columns. */
export type Columns = Readonly<Record<string, unknown>>;

/** One row of a source: what it holds, or why that cannot be read. */
export interface Row {
  /** Counts from 1 on. In a file of lines it is the number of the line. */
  readonly number: number;
  readonly columns: Columns;
  readonly fault?: string | undefined;
}

/** A file that is open, from the front to the end, no more of it in memory than it takes. */
export interface Source {
  /** Values of each vector, where the file tells it before the first row. */
  readonly dimension?: number | undefined;
  /** The names of the columns, where all rows have the same. */
  readonly columns?: readonly string[] | undefined;
  /** Rows, where the file tells how many. */
  readonly total?: number | undefined;
  /** The rows whose number is greater than `after`; called once. */
  rows(after: number): AsyncIterable<Row>;
  /** How much of the file was read, from 0 to 1; undefined if nobody knows. */
  share(): number | undefined;
  close(): Promise<void>;
}
