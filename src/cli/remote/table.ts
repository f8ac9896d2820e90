/** A table as text: a head, and rows of cells, all set to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const lines = all.map((row) => row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  '));
  return `${lines.join('\n')}\n`;
}
