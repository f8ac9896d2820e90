"""The two clients are the same, but for `await`."""

from __future__ import annotations

import inspect
import os

import pytest

from vectord_client import AsyncClient, Client, NewPoint

METHODS = [name for name in vars(Client) if not name.startswith("_")]


def test_both_clients_have_the_same_methods() -> None:
    assert [name for name in vars(AsyncClient) if not name.startswith("_")] == METHODS
    operations = ["upsert", "get", "search", "search_all", "scroll", "scroll_page", "count"]
    operations += ["delete", "delete_all", "update", "info", "bulk"]
    assert sorted(METHODS) == sorted([*operations, "close"])


@pytest.mark.parametrize("name", [*METHODS, "__init__"])
def test_methods_have_the_same_parameters_and_say_the_same(name: str) -> None:
    sync, asynchronous = getattr(Client, name), getattr(AsyncClient, name)
    parameters = [
        [(it.name, it.kind, it.default) for it in inspect.signature(method).parameters.values()]
        for method in (sync, asynchronous)
    ]
    assert parameters[0] == parameters[1]
    assert sync.__doc__ == asynchronous.__doc__


def test_a_client_is_closed_at_the_end_of_a_block(address: str, empty: None) -> None:
    with Client(address, key=os.environ["VECTORD_KEY"]) as client:
        client.upsert([NewPoint([1, 2, 3, 4])])
    with pytest.raises(ValueError, match="closed"):
        client.count()


async def test_an_asyncio_client_is_closed_at_the_end_of_a_block(address: str) -> None:
    async with AsyncClient(address, key=os.environ["VECTORD_KEY"]) as client:
        await client.count()
    with pytest.raises(Exception, match="closed"):
        await client.count()
