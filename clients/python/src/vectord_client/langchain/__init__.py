"""A vector store for LangChain. It needs the extra `langchain` of the package."""

from .store import VectordVectorStore

__all__ = ["VectordVectorStore"]
