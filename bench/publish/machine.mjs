// What the results depend on, as bench/peers/machine.py has it for the comparison.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

const CPU_INFO = '/proc/cpuinfo';
const FEATURES = ['avx2', 'fma', 'avx_vnni', 'avx512f', 'avx512bw', 'avx512_vnni'];
FEATURES.push('avx512_vpopcntdq', 'avx512_bf16', 'avx512_fp16', 'asimd', 'asimddp');

/** The machine and what runs on it, by name. */
export function machine() {
  const known = new Set(existsSync(CPU_INFO) ? readFileSync(CPU_INFO, 'utf8').split(/\s+/) : []);
  const features = FEATURES.filter((name) => known.has(name)).join(' ') || 'features unknown';
  return {
    processor: `${cpus()[0]?.model ?? process.arch}, ${cpus().length} cores (${features})`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release()}`,
    'load at the start': loadavg()[0].toFixed(1),
    commit: output('git', 'describe', '--always', '--dirty'),
    compiler: output('rustc', '--version'),
    RUSTFLAGS: process.env.RUSTFLAGS ?? 'not set',
    'Node.js': process.version,
  };
}

function output(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8' }).trim();
}
