// Says what to install where the addon cannot be compiled: without Rust its build tool fails with
// the name of a program that it did not find.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const { status } = spawnSync('cargo', ['--version'], { stdio: 'ignore' });
if (status !== 0) {
  console.error(
    'vectord is compiled here, and cargo, the build tool of Rust, is not in PATH.\n' +
      'Install Rust 1.95 or newer, by rustup (https://rustup.rs) or by the package manager of the system,\n' +
      'and a C compiler; then run `npm ci` again in a new terminal.',
  );
  process.exit(1);
}
