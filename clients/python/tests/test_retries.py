"""Which calls are repeated when the line breaks, and which are not."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from vectord_client import (
    ConnectionLostError,
    NewPoint,
    PointUpdate,
    Similarity,
    VectordError,
    points_of,
)
from vectord_client._core.retries import Attempts, Patience, Repeat, Resumption
from vectord_client.errors import error_from

A = "00000000-0000-4000-8000-00000000000a"
B = "00000000-0000-4000-8000-00000000000b"


async def until(condition: Any) -> None:
    while not await condition():
        await asyncio.sleep(0.01)


async def test_an_upsert_whose_answer_was_lost_is_repeated_and_stores_once(
    services: Any, client: Any, line: Any
) -> None:
    broken = services.open(line.address)
    await broken.count()
    line.swallow_answers()
    call = asyncio.ensure_future(broken.upsert([NewPoint([1, 0, 0, 0]), NewPoint([2, 0, 0, 0])]))

    async def are_stored() -> bool:
        return bool(await client.count() == 2)

    await until(are_stored)
    line.cut()
    upserted = await call
    assert (upserted.stored, upserted.replaced) == (0, 2)
    assert await client.count() == 2
    assert (await client.get(upserted.ids, include=[])).missing == []


async def test_an_update_whose_answer_was_lost_is_repeated(
    services: Any, client: Any, line: Any
) -> None:
    await client.upsert([NewPoint([1, 0, 0, 0], id=A)])
    broken = services.open(line.address)
    await broken.count()
    line.swallow_answers()
    call = asyncio.ensure_future(broken.update([PointUpdate(A, content="x")]))

    async def is_updated() -> bool:
        return bool((await client.get([A])).points[0].content == "x")

    await until(is_updated)
    line.cut()
    assert (await call).updated == 1


@pytest.mark.parametrize(("options", "left"), [({}, "ours"), ({"retries": 0}, "theirs")])
async def test_a_repeated_write_may_undo_anothers_which_no_retries_exclude(
    services: Any, client: Any, line: Any, options: Any, left: str
) -> None:
    await client.upsert([NewPoint([1, 0, 0, 0], id=A)])

    async def content() -> str:
        return str((await client.get([A])).points[0].content)

    broken = services.open(line.address, **options)
    for write in (
        lambda: broken.upsert([NewPoint([1, 0, 0, 0], id=A, content="ours")]),
        lambda: broken.update([PointUpdate(A, content="ours")]),
    ):
        await broken.count()
        line.swallow_answers()
        call = asyncio.ensure_future(write())

        async def is_written() -> bool:
            return await content() == "ours"

        await until(is_written)
        await client.update([PointUpdate(A, content="theirs")])
        line.cut()
        if left == "theirs":
            with pytest.raises(ConnectionLostError):
                await call
        else:
            await call
        assert await content() == left


async def test_a_delete_whose_answer_was_lost_is_not_repeated(
    services: Any, client: Any, line: Any
) -> None:
    broken = services.open(line.address)
    for delete in (
        lambda: broken.delete([A]),
        lambda: broken.delete_matching({"$id": A}),
        lambda: broken.delete_all(1),
    ):
        await client.upsert([NewPoint([1, 0, 0, 0], id=A)])
        await broken.count()
        line.swallow_answers()
        call = asyncio.ensure_future(delete())

        async def is_deleted() -> bool:
            return bool(await client.count() == 0)

        await until(is_deleted)
        line.cut()
        with pytest.raises(ConnectionLostError) as raised:
            await call
        assert raised.value.retryable
        assert not raised.value.is_refusal


async def test_reads_are_repeated(services: Any, client: Any, line: Any) -> None:
    await client.upsert([NewPoint([1, 0, 0, 0], id=A)])
    broken = services.open(line.address)
    await broken.count()
    reads = [
        lambda: broken.count(),
        lambda: broken.info(),
        lambda: broken.get([A]),
        lambda: broken.search(like=A, similarity=Similarity.EUCLIDEAN),
        lambda: broken.scroll_page(1),
    ]
    for read in reads:
        line.swallow_answers()
        call = asyncio.ensure_future(read())
        await asyncio.sleep(0.05)
        line.cut()
        assert await call is not None
    assert line.connections > len(reads)


async def test_a_scroll_goes_on_where_the_line_broke(services: Any, client: Any, line: Any) -> None:
    rows, content = 3_000, "x" * 4_000
    load = points_of(np.ones((rows, 4), dtype=np.float32), contents=[content] * rows)
    await client.bulk(load)
    expected = [it.id async for it in client.scroll(include=[])]
    broken = services.open(line.address)
    seen = []
    async for it in broken.scroll():
        seen.append(it.id)
        if len(seen) in (10, 2_000):
            line.cut()
    assert seen == expected
    assert line.connections > 1


async def test_a_scroll_may_take_longer_than_its_messages(client: Any) -> None:
    rows = 3_000
    contents = ["x" * 4_000] * rows
    await client.bulk(points_of(np.ones((rows, 4), dtype=np.float32), contents=contents))
    seen = 0
    async for _ in client.scroll(timeout=2):
        seen += 1
        if seen == 1:
            await asyncio.sleep(2.5)
    assert seen == rows


async def test_a_load_goes_on_where_the_line_broke(services: Any, client: Any, line: Any) -> None:
    broken = services.open(line.address)
    cuts = []

    def cut(progress: Any) -> None:
        if progress.batches in (3, 20):
            cuts.append(line.cut())

    vectors = np.random.default_rng(1).random((3_000, 4), dtype=np.float32)
    done = await broken.bulk(points_of(vectors), batch_bytes=4_096, on_progress=cut)
    assert cuts == [1, 1]
    assert done.points == 3_000
    assert done.stored + done.replaced == 3_000
    assert await client.count() == 3_000


LOST = error_from("UNAVAILABLE", "the connection broke", ())
LATE = error_from("DEADLINE_EXCEEDED", "too late", ())
WRONG = error_from("INVALID_ARGUMENT", "limit is 0", ())
REFUSED = VectordError(
    "UNAVAILABLE", "the service is stopping", retryable=True, retry_after=1.0, is_refusal=True
)


def test_what_may_have_happened_is_repeated_only_where_that_changes_nothing() -> None:
    for repeat, error, is_repeated in [
        (Repeat.ALWAYS, LOST, True),
        (Repeat.ALWAYS, REFUSED, True),
        (Repeat.ALWAYS, LATE, True),
        (Repeat.ALWAYS, WRONG, False),
        (Repeat.REFUSED, LOST, False),
        (Repeat.REFUSED, REFUSED, True),
        (Repeat.REFUSED, LATE, False),
        (Repeat.REFUSED, WRONG, False),
    ]:
        delay = Attempts(repeat, 3, 30.0).delay_after(error)
        assert (delay is not None) == is_repeated


def test_delays_grow_and_end() -> None:
    attempts = Attempts(Repeat.ALWAYS, 4, 1_000.0)
    delays = [attempts.delay_after(LOST) for _ in range(5)]
    assert delays[4] is None
    for delay, expected in zip(delays[:4], [0.1, 0.2, 0.4, 0.8], strict=True):
        assert 0.75 * expected <= delay <= 1.25 * expected
    assert Attempts(Repeat.ALWAYS, 4, 1_000.0).delay_after(REFUSED) >= 0.75
    assert Attempts(Repeat.ALWAYS, 4, 0.05).delay_after(LOST) is None
    assert Attempts(Repeat.ALWAYS, 0, 1_000.0).delay_after(LOST) is None


def test_a_load_waits_for_what_may_come_back() -> None:
    for error, waits in [(LOST, True), (REFUSED, True), (LATE, True), (WRONG, False)]:
        assert (Patience(1_000.0).delay_after(error) is not None) == waits
    assert Patience(0.0).delay_after(LOST) is None


def test_a_stream_begins_its_attempts_anew_with_each_message() -> None:
    stream = Resumption(1, 1_000.0)
    assert stream.delay_after(LOST) is not None
    assert stream.delay_after(LOST) is None
    stream.message_came()
    assert stream.delay_after(LOST) is not None
    stream.message_came()
    assert stream.delay_after(LATE) == 0.0
    assert stream.delay_after(LATE) > 0.0
    assert stream.delay_after(LATE) is None
