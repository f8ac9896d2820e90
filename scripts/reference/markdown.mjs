// Pieces of Markdown that both references have.

export function heading(level, text) {
  return `${'#'.repeat(level)} ${text}`;
}

/** Text without line breaks, as a cell of a table has it. */
export function oneLine(text) {
  return text.trim().replaceAll(/\s+/g, ' ');
}

/** A table of fields: each has a name, a type and a meaning. */
export function fieldTable(fields) {
  const rows = fields.map(
    ({ name, type, meaning }) =>
      `| \`${name}\` | ${type} | ${oneLine(meaning).replaceAll('|', '\\|')} |`,
  );
  return ['| Field | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
