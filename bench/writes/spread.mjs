/** The median of several figures, the least and the most. */
export function spread(values, digits) {
  const of = {
    median: percentile(values, 50),
    least: Math.min(...values),
    most: Math.max(...values),
  };
  return Object.fromEntries(
    Object.entries(of).map(([name, value]) => [name, Number(value.toFixed(digits))]),
  );
}

/** The least value that so many percent of all are not above. */
export function percentile(values, percent) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
}
