// The report of a benchmark as Markdown.

/**
 * A number, a word, or the median of several rounds with the least and the most.
 * @typedef {number | string | { median: number, least: number, most: number }} Cell
 *
 * What a benchmark found, which crates/bench/src/report writes and bench/writes too.
 * @typedef {object} Report
 * @property {Record<string, string>} machine
 * @property {Record<string, string>} settings
 * @property {{ title: string, rows: Record<string, Cell>[] }[]} tables
 * @property {{ what: string, found: Cell, target: string, met: boolean | null }[]} verdicts
 */

/** @param {string} title @param {Report} report */
export function markdown(title, { machine, settings, tables, verdicts }) {
  const facts = Object.entries({ ...machine, ...settings });
  const parts = [`# ${title}`, facts.map(([name, value]) => `- ${name}: ${value}`).join('\n')];
  for (const { title: heading, rows } of tables) {
    if (rows.length > 0) parts.push(`## ${heading}`, table(rows));
  }
  if (verdicts.length > 0) parts.push('## Targets', table(verdicts.map(judged)));
  return `${parts.join('\n\n')}\n`;
}

function judged({ what, found, target, met }) {
  const verdict = met === null ? 'open' : met ? 'met' : '**missed**';
  return { figure: what, target, found: cell(found, digits(found)), verdict };
}

/** Rows with the columns of the first; numbers of a column have as many digits as any of them. */
function table(rows) {
  const columns = Object.keys(rows[0]);
  const isText = columns.map((column) => rows.every((row) => typeof row[column] === 'string'));
  const most = columns.map((column) => Math.max(...rows.map((row) => digits(row[column]))));
  const lines = [
    columns,
    isText.map((text) => (text ? '---' : '---:')),
    ...rows.map((row) => columns.map((column, index) => cell(row[column], most[index]))),
  ];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** How many digits follow the point. */
function digits(value) {
  if (typeof value === 'string') return 0;
  if (typeof value === 'object') return Math.max(...Object.values(value).map(digits));
  return String(value).split('.')[1]?.length ?? 0;
}

function cell(value, count) {
  if (typeof value === 'string') return value;
  if (typeof value === 'object') {
    const [median, least, most] = [value.median, value.least, value.most];
    return `${cell(median, count)} (${cell(least, count)}..${cell(most, count)})`;
  }
  const places = { minimumFractionDigits: count, maximumFractionDigits: count };
  return value.toLocaleString('en', places);
}
