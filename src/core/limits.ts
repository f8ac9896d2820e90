/** What one request, all of them together, and the filter index may cost. Each is a setting. */
export interface Limits {
  /** The size of one request on either interface, after decompression. */
  readonly maxRequestBytes: number;
  /** Items in one batch. */
  readonly maxBatch: number;
  /** UTF-8 bytes of one content string. */
  readonly maxContentBytes: number;
  /** Sum over a batch search of max(ef, min(limit, points)). */
  readonly maxSearchWork: number;
  /** Bytes of all requests that are being read or answered at one time. */
  readonly maxInflightBytes: number;
  /** Memory of the index by which filters are answered. */
  readonly maxFilterIndexBytes: number;
}
