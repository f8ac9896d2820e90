"""What the tests have: running services, whose addresses and keys the environment names, and
clients of them. Each test that asks for a client begins with an empty service."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from vectord_client import AsyncClient, Client, ConflictError, Tls

from .line import Line


class Awaited:
    """Gives the synchronous client the manners of the other one, so that one text tests both. Its
    methods run on a thread, so that a test can do something meanwhile."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(method, *args, **options)

        return call

    async def scroll(self, **options: Any) -> AsyncIterator[Any]:
        points = self._client.scroll(**options)
        end = object()
        while (point := await asyncio.to_thread(next, points, end)) is not end:
            yield point


class Services:
    """Makes clients of both kinds; they are closed at the end of the test."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._opened: list[Client | AsyncClient] = []

    def open(self, address: str, *, key: str | None = None, **options: Any) -> Any:
        """A client of the kind that is tested."""
        key = os.environ["VECTORD_KEY"] if key is None else key
        if self.kind == "asyncio":
            client = AsyncClient(address, key=key, **options)
            self._opened.append(client)
            return client
        sync = Client(address, key=key, **options)
        self._opened.append(sync)
        return Awaited(sync)

    async def close(self) -> None:
        for client in self._opened:
            if isinstance(client, AsyncClient):
                await client.close()
            else:
                client.close()


@pytest.fixture
def address() -> str:
    """The service that stores 4 dimensions, and keeps the graph of Hamming from the start on."""
    return os.environ["VECTORD_ADDRESS"]


@pytest.fixture
def readonly_key() -> str:
    """The key that may only read, of all services."""
    return os.environ["VECTORD_READONLY_KEY"]


@pytest.fixture
def small_address() -> str:
    """The service with a MAX_REQUEST_BYTES of 8,192, a MAX_BATCH of 10 and no room for a filter
    index."""
    return os.environ["VECTORD_SMALL_ADDRESS"]


@pytest.fixture
def tls_address() -> str:
    """The service with TLS, which asks clients for certificates."""
    return os.environ["VECTORD_TLS_ADDRESS"]


@pytest.fixture
def tls() -> Tls:
    """What that service takes."""
    return Tls.from_files(
        os.environ["VECTORD_TLS_CA"],
        client_certificate=os.environ["VECTORD_TLS_CERT"],
        client_key=os.environ["VECTORD_TLS_KEY"],
    )


@pytest.fixture
def empty(address: str) -> None:
    """Nothing is in the service."""
    empty_service(address)


@pytest.fixture(params=["sync", "asyncio"])
async def services(request: pytest.FixtureRequest) -> AsyncIterator[Services]:
    """Clients of either kind: the test runs once for each."""
    made = Services(request.param)
    yield made
    await made.close()


@pytest.fixture
async def client(services: Services, address: str, empty: None) -> Any:
    """A client of an empty service, of either kind."""
    return services.open(address)


@pytest.fixture
def line(address: str) -> Iterator[Line]:
    """A line to the service that can break."""
    opened = Line(address)
    yield opened
    opened.close()


def empty_service(address: str) -> None:
    """Deletes all points of a service. A client that was closed may still have writes under way:
    then the number of points changes, and the delete is tried again."""
    with Client(address, key=os.environ["VECTORD_KEY"]) as client:
        for attempt in itertools.count():
            try:
                client.delete_all(client.count())
                return
            except ConflictError:
                if attempt == 100:
                    raise
