import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The paths of the segments in the folder of a log, the oldest first. */
export function segmentsOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return names.toSorted().map((name) => join(folder, name));
}
