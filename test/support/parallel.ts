/** Does something with each item, `width` at a time. */
export async function forEachParallel<Item>(
  items: readonly Item[],
  width: number,
  act: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      await act(items[index] as Item, index);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
}
