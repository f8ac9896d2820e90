import { readdirSync, readFileSync } from 'node:fs';

/** The processor time that the threads of a process have used, in microseconds; on Linux. */
export function processorUs(pid) {
  const folder = `/proc/${pid}/task`;
  // The first number of schedstat is the time on a processor, in nanoseconds.
  return readdirSync(folder).reduce(
    (sum, thread) =>
      sum + Number.parseInt(readFileSync(`${folder}/${thread}/schedstat`, 'utf8')) / 1e3,
    0,
  );
}
