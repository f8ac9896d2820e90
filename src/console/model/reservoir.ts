/**
 * Some of the items, each with the same chance and none twice; all of them where they are no more than
 * `most`. `random` answers numbers from 0 to below 1. J. S. Vitter, Random Sampling with a Reservoir,
 * ACM TOMS 11 (1985), algorithm R.
 */
export function drawFrom<Item>(
  items: readonly Item[],
  most: number,
  random: () => number = Math.random,
): Item[] {
  const drawn = items.slice(0, most);
  for (let seen = most; seen < items.length; seen += 1) {
    const at = Math.floor(random() * (seen + 1));
    if (at < most) drawn[at] = items[seen] as Item;
  }
  return drawn;
}
