import type { TestPoint } from '../support/clients.js';

/** A point of which only the vector matters. */
export function textPoint(vector: readonly number[]): TestPoint {
  return { vector, contentType: 'Text', content: '' };
}
