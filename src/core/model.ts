/** The resources of the service, free of any protocol. */

/** What the payload's content is; the numbers are those of the wire format and of the log. */
export const ContentType = { Image: 0, Text: 1 } as const;
export type ContentType = (typeof ContentType)[keyof typeof ContentType];

/** The content type of a stored point that has this number. */
export function toContentType(number: number | undefined): ContentType {
  return number === ContentType.Text ? ContentType.Text : ContentType.Image;
}

/** How closeness is measured; the numbers are those of the wire format and of the engine. */
export const Similarity = { Euclidean: 0, Manhattan: 1, Hamming: 2, Cosine: 3 } as const;
export type Similarity = (typeof Similarity)[keyof typeof Similarity];

const SIMILARITY_NAMES = new Map<number, string>(
  Object.entries(Similarity).map(([name, number]) => [number, name]),
);

export function similarityName(number: number): string {
  return SIMILARITY_NAMES.get(number) ?? String(number);
}

export interface Payload {
  readonly contentType: ContentType;
  /** Any well-formed Unicode string. */
  readonly content: string;
}

/** A point as a client sends it: the service gives it its id. */
export interface NewPoint {
  readonly vector: Float32Array;
  readonly payload: Payload;
}

export interface Point extends NewPoint {
  /** Lower-case UUID. */
  readonly id: string;
}

export interface Query {
  readonly vector: Float32Array;
  readonly similarity: Similarity;
  /** The greatest number of results; a bigint where the protocol carries 64 bits. */
  readonly limit: number | bigint;
  /** Search breadth; absent or 0 is the service's default. */
  readonly ef?: number | bigint | undefined;
}
