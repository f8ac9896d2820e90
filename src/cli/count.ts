/** A whole number as people read it, in groups of three digits; others are rounded. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** So many of something, whose name in the plural has one more s. */
export function formatCounted(count: number, unit: string): string {
  return `${formatCount(count)} ${unit}${count === 1 ? '' : 's'}`;
}
