import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/need-cargo.mjs', import.meta.url));

test('a build without cargo in PATH says in three lines what to install', () => {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], {
    env: { PATH: '/nonexistent' },
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr.trimEnd().split('\n')).toHaveLength(3);
  expect(stderr).toContain('cargo');
  expect(stderr).toContain('Install Rust');
  expect(stderr).not.toMatch(/^\s+at /m);
});

test('a build with cargo in PATH goes on', () => {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
