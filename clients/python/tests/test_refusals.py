"""What is refused, by the client and by the service."""

from __future__ import annotations

from typing import Any

import pytest

from vectord_client import (
    ConflictError,
    ConnectionLostError,
    InvalidArgumentError,
    NewPoint,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    PointUpdate,
    Query,
    Similarity,
    TimedOutError,
    TooLargeError,
    UnauthenticatedError,
    VectordError,
)

A = "00000000-0000-4000-8000-00000000000a"
EUCLIDEAN = Similarity.EUCLIDEAN
POINT = NewPoint([1, 2, 3, 4], id=A)


def with_metadata(metadata: Any) -> list[NewPoint]:
    return [POINT, NewPoint([1, 2, 3, 4], metadata=metadata)]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("upsert", ([POINT, NewPoint([[1, 2]])],), r"points\[1\]\.vector has the shape \(1, 2\)"),
        ("upsert", ([NewPoint("x")],), r"points\[0\]\.vector is no array of numbers"),
        ("upsert", ([NewPoint([1], id="")],), r"points\[0\]\.id is empty, expected a UUID"),
        ("upsert", ([NewPoint([1], id=1)],), r"points\[0\]\.id is 1, expected a UUID"),
        ("upsert", ([NewPoint([1], content=1)],), r"points\[0\] cannot be sent"),
        ("upsert", ([NewPoint([1], content="\ud800")],), r"points\[0\] cannot be sent"),
        ("upsert", (with_metadata([]),), r"points\[1\]\.metadata is \[\], expected a mapping"),
        ("upsert", (with_metadata({"a": float("nan")}),), r"points\[1\]\.metadata cannot be"),
        ("upsert", (with_metadata({"a": object()}),), "object"),
        ("bulk", ([POINT, NewPoint([[1, 2]])],), "point 1 of the load.vector has the shape"),
        ("get", (A,), "ids is the text"),
        ("get", ([A, 5],), r"ids\[1\] is 5, expected a UUID"),
        ("update", ([PointUpdate("")],), r"points\[0\]\.id is empty"),
        (
            "search_all",
            ([Query(similarity=EUCLIDEAN)],),
            r"queries\[0\].vector and .*: expected one",
        ),
        ("delete_all", (-1,), "confirm cannot be sent"),
        ("scroll_page", (-1,), "limit and after cannot be sent"),
    ],
)
async def test_what_cannot_be_sent_is_a_value_error_that_names_it(
    client: Any, name: str, arguments: tuple[Any, ...], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        await getattr(client, name)(*arguments)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "vector and like: expected one of them"),
        ({"vector": [1], "like": A}, "vector and like: expected one of them"),
        (
            {"vector": [1], "include": ["score"]},
            r"include\[0\] is 'score', expected one of distance",
        ),
        ({"vector": [1], "include": "vector"}, "include is the text"),
        ({"vector": [1], "limit": -1}, "the query cannot be sent"),
        ({"vector": [1], "timeout": 0}, "timeout is 0, expected more than 0 seconds"),
    ],
)
async def test_a_query_that_cannot_be_sent_is_a_value_error(
    client: Any, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        await client.search(similarity=EUCLIDEAN, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"address": "http://127.0.0.1:1"},
        {"address": "127.0.0.1:1", "timeout": 0},
        {"address": "127.0.0.1:1", "retries": -1},
    ],
)
async def test_a_client_that_cannot_work_is_refused(services: Any, options: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        services.open(**options)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "expected"),
    [
        ("upsert", ([NewPoint([1, 2])],), InvalidArgumentError, "vector has 2"),
        ("upsert", ([POINT, POINT],), InvalidArgumentError, r"points\[1\]"),
        ("upsert", (with_metadata({"a": {}}),), InvalidArgumentError, r"points\[1\]"),
        ("upsert", (with_metadata({"$a": 1}),), InvalidArgumentError, r"points\[1\]"),
        ("get", (["x"],), InvalidArgumentError, r"ids\[0\]"),
        ("scroll_page", (0,), InvalidArgumentError, "limit"),
        (
            "search_all",
            ([Query(like=A, similarity=EUCLIDEAN)],),
            NotFoundError,
            r"queries\[0\]: like",
        ),
        ("delete_all", (5,), ConflictError, "0 points"),
    ],
)
async def test_what_breaks_a_rule_is_refused_by_the_service(
    client: Any, name: str, arguments: tuple[Any, ...], kind: type[VectordError], expected: str
) -> None:
    with pytest.raises(kind, match=expected) as raised:
        await getattr(client, name)(*arguments)
    error = raised.value
    assert not error.retryable
    assert error.is_refusal
    assert error.request_id
    assert str(error) == f"{error.code}: {error.message}"
    assert await client.count() == 0


async def test_a_token_of_another_store_is_refused_by_a_scroll(client: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="after"):
        async for _ in client.scroll(after="x"):
            pass


async def test_keys_are_checked(
    services: Any, address: str, empty: None, readonly_key: str
) -> None:
    stranger = services.open(address, key="no-such-key")
    with pytest.raises(UnauthenticatedError) as raised:
        await stranger.count()
    assert raised.value.code == "UNAUTHENTICATED"
    reader = services.open(address, key=readonly_key)
    assert await reader.count() == 0
    for write in (
        reader.upsert([POINT]),
        reader.update([PointUpdate(A)]),
        reader.delete([A]),
        reader.delete_all(0),
        reader.bulk([POINT]),
    ):
        with pytest.raises(PermissionDeniedError) as raised:
            await write
        assert raised.value.code == "PERMISSION_DENIED"


async def test_what_is_too_large_is_told_from_an_overload(
    services: Any, small_address: str
) -> None:
    client = services.open(small_address)
    with pytest.raises(TooLargeError) as raised:
        await client.upsert([NewPoint([1, 2, 3, 4])] * 11)
    assert raised.value.code == "TOO_LARGE"
    with pytest.raises(TooLargeError):
        await client.upsert([NewPoint([1, 2, 3, 4], content="x" * 10_000)])
    with pytest.raises(TooLargeError, match="points 0 to 0 of the load"):
        await client.bulk([NewPoint([1, 2, 3, 4], content="x" * 10_000)])

    await client.bulk(NewPoint([at, 0, 0, 0]) for at in range(130))
    query = Query(vector=[0, 0, 0, 0], similarity=EUCLIDEAN, limit=1_000, include=[])
    with pytest.raises(OverloadedError) as overload:
        await services.open(small_address, retries=1).search_all([query] * 10)
    error = overload.value
    assert error.code == "OVERLOADED"
    assert error.retryable
    assert error.is_refusal
    assert error.retry_after == 1.0
    await client.delete_all(await client.count())


async def test_a_service_that_is_not_there_has_no_connection(services: Any) -> None:
    client = services.open("127.0.0.1:1", retries=1)
    with pytest.raises(ConnectionLostError) as raised:
        await client.count()
    error = raised.value
    assert error.code == "CONNECTION_LOST"
    assert error.retryable
    assert not error.is_refusal
    assert error.request_id is None
    with pytest.raises(ConnectionLostError, match="the start of the load"):
        await client.bulk([POINT], patience=0.2)
    with pytest.raises(ConnectionLostError):
        async for _ in client.scroll():
            pass


async def test_a_call_ends_with_its_time(services: Any, line: Any, empty: None) -> None:
    client = services.open(line.address, timeout=0.5)
    await client.count(timeout=30)
    line.swallow_answers()
    for call in (client.count(), client.upsert([POINT]), client.delete([A])):
        with pytest.raises(TimedOutError) as raised:
            await call
        assert raised.value.code == "TIMEOUT"
        assert raised.value.retryable
        assert not raised.value.is_refusal
    with pytest.raises(TimedOutError):
        async for _ in client.scroll():
            pass
