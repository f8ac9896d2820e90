// What rounds of faults came to, a row for each fault.
const COLUMNS = [
  ['fault', (_, name) => name],
  ['rounds', (rounds) => rounds.length],
  ['hung', (rounds) => count(rounds, ({ hung }) => hung)],
  ['writes go on after, median', (rounds) => seconds(quantile(rounds, 0.5))],
  ['greatest', (rounds) => seconds(quantile(rounds, 1))],
  ['a replica not current again', (rounds) => count(rounds, (one) => one.allCurrentMs === null)],
  ['acknowledged', (rounds) => sum(rounds, 'acknowledged')],
  ['lost', (rounds) => sum(rounds, 'lost')],
  ['stored twice', (rounds) => sum(rounds, 'twice')],
  ['gaps', (rounds) => sum(rounds, 'gaps')],
  ['not known', (rounds) => sum(rounds, 'unknown')],
  ['compare-and-set failed', (rounds) => count(rounds, (one) => !one.compareAndSet)],
];

/** @param results what each round came to, with the name of its `fault` */
export function tableOf(results) {
  const names = [...new Set(results.map(({ fault }) => fault))];
  const rows = names.map((name) => {
    const rounds = results.filter(({ fault }) => fault === name);
    return COLUMNS.map(([, cell]) => String(cell(rounds, name)));
  });
  const lines = [COLUMNS.map(([title]) => title), COLUMNS.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function count(rounds, holds) {
  return rounds.filter((round) => holds(round)).length;
}

function sum(rounds, field) {
  return rounds.reduce((total, round) => total + round[field], 0);
}

function quantile(rounds, share) {
  const sorted = rounds.map(({ afterHealMs }) => afterHealMs).toSorted((one, two) => one - two);
  return sorted[Math.round((sorted.length - 1) * share)];
}

function seconds(milliseconds) {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
