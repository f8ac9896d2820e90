"""Clients outlast the restart of a service, and go on to another node where they know several."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from vectord_client import (
    ConnectionLostError,
    NewPoint,
    PointUpdate,
    Similarity,
    TimedOutError,
)

A = "00000000-0000-4000-8000-00000000000a"
B = "00000000-0000-4000-8000-00000000000b"
NOBODY = "127.0.0.1:1"
NAMELESS = "vectord.invalid:1"


async def test_no_call_is_lost_while_a_service_starts_again(
    services: Any, client: Any, line: Any
) -> None:
    await client.upsert([NewPoint([1, 0, 0, 0], id=A)])
    other = services.open(line.address)
    line.refuse()
    calls = [
        other.count(),
        other.search([1, 0, 0, 0], similarity=Similarity.COSINE),
        other.upsert([NewPoint([1, 0, 0, 0])]),
        other.update([PointUpdate(A, content="x")]),
        other.bulk([NewPoint([1, 0, 0, 0])]),
        # Nothing of it was sent.
        other.delete([B]),
    ]
    pending = asyncio.gather(*calls)
    # A start takes less.
    await asyncio.sleep(4)
    line.accept()
    await pending
    assert await client.count() == 3


async def test_calls_go_to_the_next_node_where_nobody_answers(
    services: Any, client: Any, address: str
) -> None:
    other = services.open([NOBODY, NOBODY, address])
    assert await other.count() == 0
    progress = await services.open((NOBODY, address)).bulk(
        [NewPoint([at, 0, 0, 0]) for at in range(10)], batch_bytes=100
    )
    assert progress.stored == 10
    scrolling = services.open([NOBODY, address]).scroll(include=[])
    assert len([point async for point in scrolling]) == 10
    for first in (NOBODY, NAMELESS):
        assert (await services.open([first, address]).delete([A])).missing == [A]
        assert (await services.open([first, address]).delete_matching({"$id": A})).deleted == 0
    with pytest.raises(ConnectionLostError) as raised:
        await services.open(NOBODY, retries=0).delete([A])
    assert raised.value.is_refusal


async def test_calls_of_a_node_that_is_frozen_are_answered_by_the_next(
    services: Any, client: Any, address: str, line: Any
) -> None:
    await client.upsert([NewPoint([1, 0, 0, 0], id=A)])
    other = services.open([line.address, address])
    assert await other.count() == 1
    line.swallow_answers()
    fresh = services.open([line.address, address])
    calls = [
        # To it there is no connection yet: nothing is sent.
        fresh.count(),
        fresh.delete([B]),
        other.count(),
        other.upsert([NewPoint([1, 0, 0, 0], id=A)]),
        other.bulk([NewPoint([1, 0, 0, 0], id=A)]),
        anext(other.scroll(include=[])),
    ]
    _, _, _, upserted, progress, point = await asyncio.gather(*calls)
    assert (upserted.replaced, progress.replaced, point.id) == (1, 1, A)
    # From now on at once.
    begun = time.monotonic()
    found = await other.search([1, 0, 0, 0], similarity=Similarity.COSINE)
    assert [it.id for it in found] == [A]
    assert time.monotonic() - begun < 5


async def test_one_node_that_is_frozen_has_the_time_of_the_call(services: Any, line: Any) -> None:
    line.swallow_answers()
    with pytest.raises(TimedOutError):
        await services.open(line.address).count(timeout=0.5)


@pytest.mark.parametrize("address", [[], [""], ["127.0.0.1:1", None], ("http://a:1",), b"a:1"])
async def test_what_is_no_list_of_addresses_is_refused(services: Any, address: Any) -> None:
    with pytest.raises(ValueError, match=r"address is .*, expected host:port"):
        services.open(address)
