// h2load, a client that costs next to nothing: it sends one recorded request over and over.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { SEARCH_PATH } from './search-message.mjs';

/** Says on the last line the processor time of a command, in seconds: of its own and the system's. */
const TIMED = 'TIMEFORMAT="%3U %3S"; time "$@"';

/**
 * One slice of time. Throws if a single request was not answered as it should be.
 * @param {{ grpc: string, key: string }} server
 * @param {object} load
 * @param {string} load.body the file of the recorded request
 * @param {number} load.answerBytes how long the body of its answer is
 * @param {number} load.connections each with one request at a time
 * @param {number} load.seconds
 * @param {number} [load.rate] requests a second on each connection, whether answers come or not;
 *   without it, each answer is followed by the next request
 * @param {string} [load.path] of the method; that of the contract's search without it
 * @param {string} load.log a file for the times of the requests
 * @returns {{ answers: number, cpuUs: number, latenciesUs: number[] }}
 */
export function askByH2load({ grpc, key }, load) {
  const { body, answerBytes, connections, seconds, rate, log, path = SEARCH_PATH } = load;
  const args = ['--data', body, '--clients', connections, '--max-concurrent-streams', 1];
  args.push('--duration', seconds, '--header', `authorization: ${key}`);
  args.push('--header', 'content-type: application/grpc', '--header', 'te: trailers');
  if (rate !== undefined) args.push('--rps', rate, '--log-file', log);
  args.push(`http://${grpc}${path}`);
  const command = ['-c', TIMED, 'bash', 'h2load', ...args.map(String)];
  const { status, stdout, stderr, error } = spawnSync('bash', command, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`h2load: ${stderr}`);
  const [ownS, systemS] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
  const answers = countAnswers(stdout, { answerBytes, connections });
  const latenciesUs = rate === undefined ? [] : readLatencies(readFileSync(log, 'utf8'));
  // h2load would write the next times behind these.
  rmSync(log, { force: true });
  return { answers, cpuUs: (ownS + systemS) * 1e6, latenciesUs };
}

/** From the report of h2load: how many requests were answered, which all must be as expected. */
export function countAnswers(report, { answerBytes, connections }) {
  const read = (pattern) => {
    const found = pattern.exec(report);
    if (found === null) throw new Error(`no ${pattern} in:\n${report}`);
    return found.slice(1).map(Number);
  };
  const [answers, ...faults] = read(
    /^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$/m,
  );
  const [good, ...others] = read(/^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$/m);
  const [bytes] = read(/^traffic: .*\((\d+)\) data$/m);
  // gRPC sends errors with status 200 as well, but without a body. Answers that the end of the slice
  // cuts off may have come in part.
  const isSo = (count) => count >= answers && count <= answers + connections;
  const areGood = [...faults, ...others].every((count) => count === 0);
  if (answers === 0 || !areGood || !isSo(good) || !isSo(bytes / answerBytes)) {
    throw new Error(`not each answer is a good one of ${answerBytes} bytes:\n${report}`);
  }
  return answers;
}

/** The third column of the log of h2load: microseconds until the end of each answer. */
export function readLatencies(log) {
  return log
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split('\t')[2]));
}
