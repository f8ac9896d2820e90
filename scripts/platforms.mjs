// Whether the Rust code compiles, without a warning, for every platform that there are binaries
// for: npm run test:platforms. It needs rustup, which fetches what is missing; nothing is linked.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const manifest = new URL('../package.json', import.meta.url);
const { napi } = JSON.parse(readFileSync(manifest, 'utf8'));

const failed = napi.targets.filter((target) => {
  console.log(`== ${target}`);
  const check = ['clippy', '--quiet', '--workspace', '--all-targets', '--target', target];
  return !(
    succeeds('rustup', ['--quiet', 'target', 'add', target]) &&
    succeeds('cargo', [...check, '--', '-D', 'warnings'])
  );
});
console.log(`${napi.targets.length - failed.length} passed, ${failed.length} failed ${failed}`);
process.exitCode = failed.length > 0 ? 1 : 0;

function succeeds(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  return status === 0;
}
