import { FileWatch } from '../config/file-watch.js';
import type { Clock } from '../core/clock.js';
import { messageOf } from '../core/start-error.js';
import type { Logger } from '../observe/logger.js';
import type { Keys } from './keys.js';

/** Keeps the keys what their file says, and logs what becomes of its changes. */
export function watchKeys(keys: Keys, logger: Logger, clock?: Clock): FileWatch {
  const { path } = keys;
  const files = {
    paths: [path],
    get version() {
      return keys.version;
    },
    reload: () => keys.reload(),
    onReloaded() {
      logger.info({ path, keys: keys.count }, 'keys file read again');
      for (const warning of keys.warnings) logger.warn(warning);
    },
    onRefused(error: unknown) {
      logger.error(
        { path, reason: messageOf(error) },
        'keys file refused: the keys that were read before stay in force',
      );
    },
  };
  return new FileWatch(files, clock);
}
