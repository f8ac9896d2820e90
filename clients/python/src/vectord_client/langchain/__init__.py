"""A vector store for LangChain. It needs `pip install "vectord-client[langchain]"`."""

from .store import VectordVectorStore

__all__ = ["VectordVectorStore"]
