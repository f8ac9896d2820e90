/** Rows as aligned lines of text; the columns from `firstNumber` on are numbers, and end together. */
export function tableLines(
  rows: readonly (readonly string[])[],
  firstNumber = Number.POSITIVE_INFINITY,
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        return at < firstNumber ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
