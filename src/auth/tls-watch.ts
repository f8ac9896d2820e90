import { FileWatch } from '../config/file-watch.js';
import type { Clock } from '../core/clock.js';
import { messageOf } from '../core/start-error.js';
import type { Logger } from '../observe/logger.js';
import type { TlsFiles, TlsPair } from './tls-files.js';

/** Hands a new certificate and its key to `take`, and logs what becomes of changes. */
export function watchTls(
  files: TlsFiles,
  take: (pair: TlsPair) => Promise<void>,
  logger: Logger,
  clock?: Clock,
): FileWatch {
  const { paths } = files;
  const watched = {
    paths,
    get version() {
      return files.version;
    },
    async reload() {
      files.reload();
      await take(files.pair);
    },
    onReloaded() {
      logger.info({ paths }, 'certificate read again');
      for (const warning of files.warnings) logger.warn(warning);
    },
    onRefused(error: unknown) {
      logger.error(
        { paths, reason: messageOf(error) },
        'certificate refused: the one that was read before stays in use',
      );
    },
  };
  return new FileWatch(watched, clock);
}
