/**
 * The engine of vectord in the process of a program: `open` opens a data folder with the interface of
 * the client, without a service.
 *
 * @module vectord/embedded
 */
import { record } from '../client/checks.js';
import { requireAddon } from '../engine/addon.js';
import { failureOf } from './failure.js';
import type { EmbeddedClient, OpenOptions } from './folder.js';

export type { EmbeddedClient, OpenOptions } from './folder.js';

/**
 * Opens a data folder in this process, without ports and keys. The operations, limits and errors are
 * those of `connect`. One client at a time has a folder, or a service: with another it fails with
 * UNAVAILABLE. Fails with INVALID_ARGUMENT if an option or the folder cannot be used, or there is no
 * binary of the engine for this platform.
 */
export async function open(options: OpenOptions = {}): Promise<EmbeddedClient> {
  try {
    const checked = record('options', options);
    requireAddon();
    // Its modules load the addon without a word of what to do.
    const { openFolder } = await import('./folder.js');
    return await openFolder(checked);
  } catch (error) {
    throw failureOf(error);
  }
}
