/** The word with the fewest edits from `text`, if one has no more than `mostEdits`. */
export function nearest(
  text: string,
  words: readonly string[],
  mostEdits: number,
): string | undefined {
  const found = words
    .filter((word) => Math.abs(word.length - text.length) <= mostEdits)
    .map((word) => ({ word, edits: editDistance(text, word) }))
    .toSorted((a, b) => a.edits - b.edits)[0];
  return found !== undefined && found.edits <= mostEdits ? found.word : undefined;
}

/** Levenshtein distance: insertions, deletions and substitutions that make one text the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const substituted = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(substituted, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
