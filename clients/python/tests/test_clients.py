"""The two clients are the same, but for `await`."""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import Any

import numpy as np
import pytest

from vectord_client import AsyncClient, CancelledError, Client, NewPoint, points_of

METHODS = [name for name in vars(Client) if not name.startswith("_")]


def test_both_clients_have_the_same_methods() -> None:
    assert [name for name in vars(AsyncClient) if not name.startswith("_")] == METHODS
    operations = ["upsert", "get", "search", "search_all", "scroll", "scroll_page", "count"]
    operations += ["delete", "delete_matching", "delete_all", "update", "info", "bulk"]
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
    with pytest.raises(CancelledError, match="CANCELLED: the client is closed"):
        client.count()


async def test_an_asyncio_client_is_closed_at_the_end_of_a_block(address: str) -> None:
    async with AsyncClient(address, key=os.environ["VECTORD_KEY"]) as client:
        await client.count()
    with pytest.raises(CancelledError, match="CANCELLED: the client is closed"):
        await client.count()


async def test_all_calls_of_a_closed_client_are_cancelled(client: Any) -> None:
    point = NewPoint([1, 2, 3, 4])
    await client.upsert([point])
    await client.close()
    for call in (client.count(), client.upsert([point]), anext(client.scroll())):
        with pytest.raises(CancelledError, match=r"^CANCELLED: the client is closed$"):
            await call
    with pytest.raises(CancelledError, match="the start of the load: the client is closed"):
        await client.bulk([point])
    await client.close()


async def test_a_scroll_ends_when_its_client_is_closed(client: Any) -> None:
    rows = 3_000
    contents = ["x" * 4_000] * rows
    await client.bulk(points_of(np.ones((rows, 4), dtype=np.float32), contents=contents))
    points = client.scroll()
    assert (await anext(points)).content
    await client.close()
    with pytest.raises(CancelledError):
        async for _ in points:
            pass


@pytest.mark.parametrize("name", ["count", "delete_all", "scroll", "bulk"])
async def test_calls_under_way_end_when_their_client_is_closed(
    services: Any, empty: None, line: Any, name: str
) -> None:
    client = services.open(line.address)
    await client.count()
    line.swallow_answers()
    calls = {
        "count": lambda: client.count(),
        "delete_all": lambda: client.delete_all(0),
        "scroll": lambda: anext(client.scroll()),
        "bulk": lambda: client.bulk([NewPoint([1, 2, 3, 4])]),
    }
    call = asyncio.ensure_future(calls[name]())
    await asyncio.sleep(0.2)
    await client.close()
    with pytest.raises(CancelledError):
        await asyncio.wait_for(call, 5)


async def test_a_load_in_which_the_client_is_closed_names_the_points(client: Any) -> None:
    loop = asyncio.get_running_loop()

    def points() -> Any:
        for at in range(100_000):
            if at == 500:
                asyncio.run_coroutine_threadsafe(client.close(), loop)
            yield NewPoint([at, 0, 0, 0])

    with pytest.raises(
        CancelledError, match=r"points \d+ to \d+ of the load: the client is closed"
    ):
        await client.bulk(points(), batch_bytes=1_000)
    # The service may still store what was under way. The next test begins with an empty one.
    await asyncio.sleep(0.5)


@pytest.mark.parametrize("name", ["count", "scroll"])
async def test_a_task_that_is_cancelled_stays_so_though_its_client_is_closed(
    address: str, empty: None, line: Any, name: str
) -> None:
    async with AsyncClient(line.address, key=os.environ["VECTORD_KEY"]) as client:
        await client.count()
        line.swallow_answers()
        calls = {"count": lambda: client.count(), "scroll": lambda: anext(client.scroll())}
        call = asyncio.ensure_future(calls[name]())
        await asyncio.sleep(0.2)
        call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
