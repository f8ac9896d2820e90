import { TransferError } from './transfer-error.js';

/**
 * A library that the package does not bring along, since few need it. If it is missing, the message
 * says how to have it.
 */
export async function optional<Library>(
  load: () => Promise<Library>,
  packages: string,
  use: string,
): Promise<Library> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new TransferError(
      `${use} needs a library that is not installed: run "npm install ${packages}" where vectord ` +
        'is installed (with -g if that is global; in a clone `npm ci` does it), and then the same ' +
        'command again',
    );
  }
}
