/** How many of the replicas of a shard are a majority. */
export function majorityOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

/** So many others, whichever they are, have one of each majority in which a replica may have been. */
export function othersOfEachMajority(replicas: number): number {
  return replicas - majorityOf(replicas) + 1;
}
