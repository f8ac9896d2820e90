import native from '../../native/index.cjs';
import type { Limits } from '../core/limits.js';
import type { Filters } from '../core/records.js';

/** The vector as a JSON array, each value in the shortest form that reads back as the same f32. */
export function formatVector(vector: Float32Array): string {
  return native.formatVector(vector);
}

/** What a body of JSON holds, or why it is refused. */
export type JsonPoints = native.JsonPoints | native.JsonRefusal;
export type JsonQueries = native.JsonQueries | native.JsonRefusal;
export type JsonQuery = native.JsonQuery | native.JsonRefusal;
export type JsonRefusal = native.JsonRefusal;

/** Reads the body that inserts a point. */
export function readPoint(body: Uint8Array, { maxContentBytes }: Limits): JsonPoints {
  return native.readPoint(body, maxContentBytes);
}

/** Reads the body that inserts points. */
export function readPoints(body: Uint8Array, { maxBatch, maxContentBytes }: Limits): JsonPoints {
  return native.readPoints(body, maxBatch, maxContentBytes);
}

/** Reads the body of a search. */
export function readQuery(body: Uint8Array): JsonQuery {
  return native.readQuery(body);
}

/** Reads the body of a batch search. */
export function readQueries(body: Uint8Array, { maxBatch }: Limits): JsonQueries {
  return native.readQueries(body, maxBatch);
}

/*
 * The bodies of `/v1`.
 */

export type JsonUpserts = native.JsonUpserts;
export type JsonUpdates = native.JsonUpdates;
export type JsonSearches = native.JsonSearches;
export type JsonGets = native.JsonGets;
export type JsonDeletes = native.JsonDeletes;
export type JsonScroll = native.JsonScroll;
export type JsonCounts = native.JsonCounts;
export type JsonMetadata = native.JsonMetadata;
type Refused<Value> = Value | JsonRefusal;

/** Reads the body that upserts points. */
export function readUpserts(body: Uint8Array, limits: Limits): Refused<JsonUpserts> {
  return native.readUpserts(body, limits.maxBatch, limits.maxContentBytes);
}

/** Reads the body that changes payloads. */
export function readUpdates(body: Uint8Array, limits: Limits): Refused<JsonUpdates> {
  return native.readUpdates(body, limits.maxBatch, limits.maxContentBytes);
}

/** Reads the body that searches for neighbours. */
export function readSearches(body: Uint8Array, { maxBatch }: Limits): Refused<JsonSearches> {
  return native.readSearches(body, maxBatch);
}

/** Reads the body that reads points by their ids. */
export function readGets(body: Uint8Array, { maxBatch }: Limits): Refused<JsonGets> {
  return native.readGets(body, maxBatch);
}

/** Reads the body that deletes points. */
export function readDeletes(body: Uint8Array, { maxBatch }: Limits): Refused<JsonDeletes> {
  return native.readDeletes(body, maxBatch);
}

/** Reads the body that asks for a page of all points. */
export function readScroll(body: Uint8Array): Refused<JsonScroll> {
  return native.readScroll(body);
}

/** Reads the body that counts points. */
export function readCounts(body: Uint8Array): Refused<JsonCounts> {
  return native.readCounts(body);
}

/**
 * Reads metadata that came as texts of their own, of which `ends` says where each ends; an empty
 * one is none.
 */
export function readMetadata(texts: Uint8Array, ends: Uint32Array): Refused<JsonMetadata> {
  return native.readMetadata(texts, ends);
}

/** Checks the filters of queries that came as texts of their own; an empty one is none. */
export function checkFilters({ texts, ends }: Filters): Refused<object> {
  return native.checkFilters(texts, ends);
}

/** Checks a filter that came as a text of its own; within one of a delete none may be empty. */
export function checkFilter(text: string, { deletes }: { deletes: boolean }): Refused<object> {
  return native.checkFilter(text, deletes);
}
