// A vector store for LangChain.js: adds documents, searches them, serves as a retriever, and deletes
// them again.
//
//   npx esbuild examples/langchain.ts --format=esm | node --input-type=module
//   node examples/langchain.ts     (Node.js 22.18 or newer runs TypeScript as it is)
//
// The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_URL its address.
// A program of your own installs @langchain/core beside the client; here npm ci has done so.
import { Embeddings } from '@langchain/core/embeddings';
import { connect } from 'vectord';
import { VectordVectorStore } from 'vectord/langchain';

const { VECTORD_URL = 'grpc://127.0.0.1:50051', VECTORD_KEY } = process.env;

/**
 * Stands for the embeddings of a model, such as those of @langchain/openai, so that the example needs
 * none. One number for each topic: how many of its words a text has.
 */
class TopicEmbeddings extends Embeddings {
  readonly topics = [/cat|kitten|purr/g, /rain|sun|wind/g, /bread|soup|oven/g];

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return texts.map((text) => this.#embed(text));
  }

  override async embedQuery(text: string): Promise<number[]> {
    return this.#embed(text);
  }

  #embed(text: string): number[] {
    return [...this.topics.map((words) => text.match(words)?.length ?? 0), 0.1];
  }
}

const client = connect(VECTORD_URL, { key: VECTORD_KEY });
const store = new VectordVectorStore(new TopicEmbeddings({}), { client });
try {
  // Ids may be any text; the same id replaces the document. Metadata may be any JSON.
  const ids = await store.addDocuments([
    { id: 'langchain.ts cat', pageContent: 'a cat that likes to purr', metadata: { year: 2023 } },
    { id: 'langchain.ts kitten', pageContent: 'a kitten in the sun', metadata: { year: 2025 } },
    { id: 'langchain.ts storm', pageContent: 'wind and rain', metadata: { year: 2025 } },
    { id: 'langchain.ts soup', pageContent: 'soup and bread', metadata: { year: 2024 } },
  ]);
  console.log(`${ids.length} documents added`);

  // A score is a distance: the smallest is the best.
  for (const [{ pageContent }, score] of await store.similaritySearchWithScore('my cat', 2)) {
    console.log(`near: ${pageContent} at ${score.toFixed(3)}`);
  }

  const recent = await store.similaritySearch('my cat', 1, { year: { $gte: 2025 } });
  console.log('near, since 2025:', recent[0]?.pageContent, JSON.stringify(recent[0]?.metadata));

  // What chains and agents take.
  const retriever = store.asRetriever({ k: 1, filter: { year: { $gte: 2024 } } });
  const [answer] = await retriever.invoke('what is in the oven?');
  console.log('retrieved:', answer?.id, '-', answer?.pageContent);

  await store.delete({ ids });
  console.log(`${ids.length} documents deleted`);
} finally {
  client.close();
}
