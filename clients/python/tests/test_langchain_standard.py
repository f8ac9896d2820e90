"""The test suite of LangChain for vector stores."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from vectord_client import AsyncClient, Client
from vectord_client.langchain import VectordVectorStore

from .conftest import empty_service


@pytest.fixture
def langchain_address() -> str:
    """The service that stores 6 dimensions, as the suite does; it is empty."""
    address = os.environ["VECTORD_LANGCHAIN_ADDRESS"]
    empty_service(address)
    return address


class TestWithOneClient(VectorStoreIntegrationTests):
    """The asynchronous methods use the synchronous client on a thread."""

    @pytest.fixture
    def vectorstore(self, langchain_address: str) -> Iterator[VectorStore]:
        with Client(langchain_address, key=os.environ["VECTORD_KEY"]) as client:
            yield VectordVectorStore(self.get_embeddings(), client)


class TestWithTwoClients(VectorStoreIntegrationTests):
    """The asynchronous methods have a client of their own."""

    @pytest.fixture
    def vectorstore(self, langchain_address: str) -> Iterator[VectorStore]:
        key = os.environ["VECTORD_KEY"]
        with Client(langchain_address, key=key) as client:
            async_client = AsyncClient(langchain_address, key=key)
            yield VectordVectorStore(self.get_embeddings(), client, async_client=async_client)
