#!/usr/bin/env node
import { runCommandLine } from './cli/run.js';
import { requireAddon } from './engine/addon.js';
import { ignoreClosedOutput } from './process/output.js';

ignoreClosedOutput();
await runCommandLine(process.argv.slice(2), async () => {
  // An import could not say what to do where the addon is missing.
  requireAddon();
  const { serve } = await import('./process/serve.js');
  await serve();
});
