import type { EmbeddingsInterface } from '@langchain/core/embeddings';

/** Texts such as "1 0" stand for their own vectors of 4 dimensions. */
export class Numbers implements EmbeddingsInterface {
  async embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map(async (text) => this.embedQuery(text)));
  }

  async embedQuery(text: string): Promise<number[]> {
    const values = text.split(' ').map(Number);
    return [...values, ...Array<number>(4 - values.length).fill(0)];
  }
}
