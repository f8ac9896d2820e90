import { FileWatch } from '../config/file-watch.js';
import type { Clock } from '../core/clock.js';
import { messageOf } from '../core/start-error.js';
import type { Logger } from '../observe/logger.js';
import type { Key } from './keys-file.js';
import type { LoadedKeys } from './loaded-keys.js';

/** Hands changed keys to `take`, and logs what becomes of changes once they are in force. */
export function watchKeys(
  keys: LoadedKeys,
  take: (keys: readonly Key[]) => Promise<void>,
  logger: Logger,
  clock?: Clock,
): FileWatch {
  const { path } = keys;
  const files = {
    paths: [path],
    get version() {
      return keys.version;
    },
    async reload() {
      keys.reload();
      await take(keys.list);
    },
    onReloaded() {
      logger.info({ path, keys: keys.list.length }, 'keys file read again');
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
