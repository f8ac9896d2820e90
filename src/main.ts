#!/usr/bin/env node
import { readConfig } from './config/config.js';
import { helpText, parseArguments } from './cli/help.js';
import { createKeys } from './cli/create-keys.js';
import { requireAddon } from './engine/addon.js';
import { misspelledSettings } from './config/misspelled.js';
import { ignoreClosedOutput } from './process/output.js';
import { StartError } from './core/start-error.js';
import { VERSION } from './config/version.js';

ignoreClosedOutput();
try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`vectord does not start:\n${error.message}\n`);
  process.exitCode = error.exitCode;
}

/** Imports what needs the addon only once it is known to load: an import cannot say what to do. */
async function run(args: readonly string[]): Promise<void> {
  if (['import', 'export', 'bench'].includes(args[0] ?? '')) {
    const { runRemoteProgram } = await import('./cli/remote-program.js');
    await runRemoteProgram(args);
    return;
  }
  const command = parseArguments(args);
  switch (command.name) {
    case 'help':
      process.stdout.write(helpText());
      break;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      break;
    case 'serve': {
      requireAddon();
      const { serve } = await import('./process/serve.js');
      await serve();
      break;
    }
    case 'keys create':
      warnOfMisspelled();
      createKeys(readConfig(process.env));
      break;
    default: {
      warnOfMisspelled();
      requireAddon();
      const { maintain } = await import('./cli/maintain.js');
      process.exitCode = await maintain(command, readConfig(process.env).dataPath);
    }
  }
}

/** Warns on the standard error: the standard output is the command's. */
function warnOfMisspelled(): void {
  for (const line of misspelledSettings(process.env)) process.stderr.write(`warning: ${line}\n`);
}
