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

/**
 * The name of a process or a thread, by its file `stat` in `/proc`, and the processor time that it has
 * used, in ticks of 10 ms; that of a process has the time of threads that have ended, too.
 */
export function readStat(path) {
  const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(path, 'utf8'));
  // utime and stime, the 14th and 15th field of the line.
  const fields = rest.split(' ');
  return { name, ticks: Number(fields[11]) + Number(fields[12]) };
}
