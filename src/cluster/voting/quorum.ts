/** How many of the replicas of a shard are a majority. */
export function majorityOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

/** How many others, whichever they are, include a member of each majority that a replica was in. */
export function othersOfEachMajority(replicas: number): number {
  return replicas - majorityOf(replicas) + 1;
}
