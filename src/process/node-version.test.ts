import { expect, test } from 'vitest';
import { nodeVersionWarning } from './node-version.js';

test.each(['20.20.1', '20.19.9', '22.12.0', '24.14.0', '25.8.1'])(
  'Node.js %s is warned about, with the release to update to',
  (version) => {
    expect(nodeVersionWarning(version)).toMatch(/CVE-2026-21714.*fixed in 2\d\.\d+\.\d+/);
  },
);

test.each(['20.20.2', '22.22.2', '22.23.0', '24.14.1', '25.8.2', '26.0.0', '26.0.0-nightly'])(
  'Node.js %s is not warned about',
  (version) => {
    expect(nodeVersionWarning(version)).toBeUndefined();
  },
);
