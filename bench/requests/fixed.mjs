import { SearchResponse } from '../../dist/gen/vectordb/vectordb.js';

/** The ten nearest, whatever is asked. */
export const ANSWER_IDS = Array.from(
  { length: 10 },
  (_, index) => `0f0e0d0c-0b0a-4908-8706-05040302010${index}`,
);

/** The same as the message that a gRPC client gets. */
export const ANSWER = SearchResponse.encode({
  resultPointIds: ANSWER_IDS.map((value) => ({ id: { value } })),
}).finish();

export const LOCALHOST = '127.0.0.1';

/** The key of the servers that are made for this benchmark. */
export const KEY = 'a-key-of-the-benchmark';
