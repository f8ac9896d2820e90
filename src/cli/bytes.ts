const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size as people read it: whole bytes, or one decimal of the greatest unit that it reaches. */
export function formatBytes(bytes: number): string {
  let text = `${bytes} bytes`;
  let value = bytes;
  for (const unit of UNITS) {
    value /= 1024;
    if (value < 1) break;
    text = `${value.toFixed(1)} ${unit}`;
  }
  return text;
}
