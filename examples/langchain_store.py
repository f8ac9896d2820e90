"""A vector store for LangChain: adds documents, searches them, serves as a retriever, deletes them.

    .venv/bin/python examples/langchain_store.py

The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_GRPC its address.
examples/README.md says how to make .venv.
"""

import os
import re

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from vectord_client import Client
from vectord_client.langchain import VectordVectorStore

ADDRESS = os.environ.get("VECTORD_GRPC", "127.0.0.1:50051")


class TopicEmbeddings(Embeddings):
    """Stands for the embeddings of a model, so that the example needs none.

    One number for each topic: how many of its words a text has. embeddings/search.py has a model.
    """

    topics = ("cat|kitten|purr", "rain|sun|wind", "bread|soup|oven")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(re.findall(words, text))) for words in self.topics] + [0.1]


# Ids may be any text; the same id replaces the document. Metadata may be any JSON.
DOCUMENTS = [
    Document("a cat that likes to purr", id="langchain_store.py cat", metadata={"year": 2023}),
    Document("a kitten in the sun", id="langchain_store.py kitten", metadata={"year": 2025}),
    Document("wind and rain", id="langchain_store.py storm", metadata={"year": 2025}),
    Document("soup and bread", id="langchain_store.py soup", metadata={"year": 2024}),
]

with Client(ADDRESS, key=os.environ["VECTORD_KEY"]) as client:
    store = VectordVectorStore(TopicEmbeddings(), client)
    ids = store.add_documents(DOCUMENTS)
    print(len(ids), "documents added")

    # A score is a distance: the smallest is the best.
    for document, score in store.similarity_search_with_score("my cat", k=2):
        print(f"near: {document.page_content} at {score:.3f}")

    (recent,) = store.similarity_search("my cat", k=1, filter={"year": {"$gte": 2025}})
    print("near, since 2025:", recent.page_content, recent.metadata)

    # What chains and agents take.
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"year": {"$gte": 2024}}})
    (answer,) = retriever.invoke("what is in the oven?")
    print("retrieved:", answer.id, "-", answer.page_content)

    store.delete(ids)
    print(len(ids), "documents deleted")
