/** A whole number as people read it, in groups of three digits; others are rounded. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** So many of something, whose name in the plural has one more s unless told otherwise. */
export function formatCounted(count: number, unit: string, units = `${unit}s`): string {
  return `${formatCount(count)} ${count === 1 ? unit : units}`;
}
