// The tables and verdicts of bench/loops.sh.
import { percentile, spread } from '../writes/spread.mjs';

export const ONE = 'one loop';
export const TWO = 'two loops';
export const BEFORE = 'before';
/** The connections for which there are targets. */
export const MANY = 8;

/** What a second loop has to reach of its bound, and what it may cost beside one. */
const LEAST_SHARE = 0.9;
const MOST_CPU = 1.05;
const MOST_P99 = 1;

/**
 * @typedef {object} Slice what one server did for a while
 * @property {number} rate searches a second
 * @property {number} serverUs processor time of the server for a search, in microseconds
 * @property {number} clientUs the same of h2load
 * @property {number[]} latenciesUs of the searches, where the rate was fixed
 *
 * @typedef {object} Measured rounds over so many connections, each with a slice of every server
 * @property {number} connections
 * @property {Record<string, Slice>[]} full each answer followed by the next request
 * @property {Record<string, Slice>[]} paced at a fixed rate
 * @property {number} pacedRate
 */

/** @param {Measured[]} measured @param {number} cores */
export function compare(measured, cores) {
  const names = Object.keys(measured[0].full[0]);
  const bases = names.includes(BEFORE) ? [ONE, BEFORE] : [ONE];
  const pairs = bases.flatMap((base) =>
    [TWO, ONE].filter((name) => name !== base).map((name) => ({ name, base })),
  );
  const tables = [
    {
      title: 'As many searches as are answered',
      rows: measured.flatMap((found) => names.map((name) => fullRow(found, name))),
    },
    {
      title: 'At half of what one loop answers',
      rows: measured.flatMap((found) => names.map((name) => pacedRow(found, name))),
    },
    {
      title: 'Side by side',
      rows: measured.flatMap((found) => pairs.map((pair) => ratioRow(found, pair))),
    },
    // With one connection there is never a second search to answer meanwhile.
    {
      title: 'What two loops could reach',
      rows: measured
        .filter(({ connections }) => connections > 1)
        .map((found) => boundRow(found, cores)),
    },
  ];
  return { tables, verdicts: judge(measured, cores) };
}

function fullRow({ connections, full }, name) {
  return {
    connections,
    server: name,
    'searches a second': spreadOf(full, (round) => round[name].rate, 0),
    'server CPU of a search, µs': spreadOf(full, (round) => round[name].serverUs, 1),
    'h2load CPU of a search, µs': spreadOf(full, (round) => round[name].clientUs, 1),
  };
}

function pacedRow({ connections, paced, pacedRate }, name) {
  const ms = (percent) => (round) => percentile(round[name].latenciesUs, percent) / 1_000;
  return {
    connections,
    server: name,
    'searches a second': pacedRate,
    'p50, ms': spreadOf(paced, ms(50), 2),
    'p99, ms': spreadOf(paced, ms(99), 2),
    'server CPU of a search, µs': spreadOf(paced, (round) => round[name].serverUs, 1),
  };
}

function ratioRow({ connections, full, paced }, { name, base }) {
  return {
    connections,
    of: `${name} / ${base}`,
    'searches a second': spreadOf(full, (round) => round[name].rate / round[base].rate, 2),
    'server CPU of a search': spreadOf(full, cpuRatio(name, base), 2),
    'p99 at equal load': spreadOf(paced, p99Ratio(name, base), 2),
  };
}

function boundRow({ connections, full }, cores) {
  return {
    connections,
    'bound of two loops / one loop': spreadOf(full, (round) => boundOf(round[ONE], cores), 2),
    'reached of it': spreadOf(full, (round) => shareOfBound(round, cores), 2),
  };
}

function judge(measured, cores) {
  const { full, paced } = measured.find(({ connections }) => connections === MANY);
  const share = spreadOf(full, (round) => shareOfBound(round, cores), 2);
  const cpu = spreadOf(full, cpuRatio(TWO, ONE), 2);
  const p99 = spreadOf(paced, p99Ratio(TWO, ONE), 2);
  const over = `over ${MANY} connections`;
  return [
    {
      what: `searches a second of two loops ${over}, of the bound`,
      found: share,
      target: `at least ${LEAST_SHARE}`,
      met: share.median >= LEAST_SHARE,
    },
    {
      what: `server CPU of a search ${over}, two loops / one loop`,
      found: cpu,
      target: `at most ${MOST_CPU}`,
      met: cpu.median <= MOST_CPU,
    },
    {
      what: `p99 at equal load ${over}, two loops / one loop`,
      found: p99,
      target: `at most ${MOST_P99}`,
      met: p99.median <= MOST_P99,
    },
  ];
}

/**
 * How many times as many searches two loops can answer as one at best: one is held up by the
 * server alone, and two share the cores with the client.
 */
export function boundOf({ serverUs, clientUs }, cores) {
  return Math.min(2, (cores * serverUs) / (serverUs + clientUs));
}

function shareOfBound(round, cores) {
  return round[TWO].rate / round[ONE].rate / boundOf(round[ONE], cores);
}

function cpuRatio(name, base) {
  return (round) => round[name].serverUs / round[base].serverUs;
}

function p99Ratio(name, base) {
  return (round) => p99Of(round[name]) / p99Of(round[base]);
}

function p99Of({ latenciesUs }) {
  return percentile(latenciesUs, 99);
}

/** Over the rounds: the median, the least and the most. */
function spreadOf(rounds, figure, digits) {
  return spread(rounds.map(figure), digits);
}
