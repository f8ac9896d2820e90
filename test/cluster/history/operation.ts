/** What a client asks for; an insert keeps points that are there. */
export const KINDS = ['upsert', 'insert', 'get', 'search', 'delete'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * What is known of an operation: its answer; that it has certainly done nothing; or nothing, and it may
 * still take effect at any later time.
 */
export const OUTCOMES = ['ok', 'failed', 'unknown'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** An operation as it is asked for. */
export interface Asked {
  /** A number for those who ask one thing after the other. */
  readonly process: number;
  readonly node: string;
  readonly kind: Kind;
  /** The keys that are written together; no operation has keys of two groups. */
  readonly group: number;
  /** Ids of points. */
  readonly keys: readonly string[];
  /** What an upsert or an insert stores under each key, from 1 on; no other one stores the same. */
  readonly version?: number;
}

/** A line of a history. */
export interface Operation extends Asked {
  readonly outcome: Outcome;
  /** Of one that is not ok. */
  readonly code?: string;
  /** Of one that is ok. */
  readonly answer?: Answer;
  /** In ns of one clock; an operation that is unknown has no end. */
  readonly start: number;
  readonly end?: number;
}

export type Answer =
  | { readonly stored: number; readonly replaced: number; readonly kept: number }
  /** Whether there was such a point, for each key of a delete. */
  | { readonly deleted: readonly boolean[] }
  /** The version that was read, for each key of a get or a search; 0 where there was no point. */
  | { readonly versions: readonly number[] };
