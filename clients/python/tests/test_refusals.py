"""What is refused, by the client and by the service."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from vectord_client import (
    ConflictError,
    ConnectionLostError,
    ContentType,
    InvalidArgumentError,
    NewPoint,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    PointUpdate,
    Query,
    Similarity,
    TimedOutError,
    Tls,
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
        ("upsert", ([NewPoint([[1], [2, 3]])],), r"points\[0\]\.vector is no array of numbers"),
        ("upsert", ([NewPoint("x")],), r"points\[0\]\.vector has the dtype <U1, expected real"),
        ("upsert", ([NewPoint([1], id="")],), r"points\[0\]\.id is empty, expected a UUID"),
        ("upsert", ([NewPoint([1], id=1)],), r"points\[0\]\.id is 1, expected a UUID"),
        ("upsert", ([NewPoint(["1"])],), r"points\[0\]\.vector has the dtype <U1, expected real"),
        ("upsert", ([NewPoint([1j])],), r"points\[0\]\.vector has the dtype complex128"),
        ("upsert", ([NewPoint([1, None])],), r"points\[0\]\.vector has the dtype object"),
        ("upsert", ([NewPoint([1], content=1)],), r"points\[0\]\.content is 1, expected a text"),
        ("upsert", ([NewPoint([1], content="\ud800")],), r"points\[0\]\.content cannot be sent"),
        (
            "upsert",
            ([NewPoint([1], content_type="text")],),
            r"points\[0\]\.content_type is 'text', expected one of ContentType\.TEXT, Con",
        ),
        ("upsert", (with_metadata({True: 1}),), r"points\[1\]\.metadata has the key True, expect"),
        (
            "upsert",
            (with_metadata([]),),
            r"points\[1\]\.metadata is of the type list, expected a map",
        ),
        ("upsert", (with_metadata({"a": object()}),), "object"),
        ("bulk", ([POINT, NewPoint([[1, 2]])],), "point 1 of the load.vector has the shape"),
        ("bulk", ([NewPoint([1], content_type=3)],), "point 0 of the load.content_type is 3, exp"),
        ("upsert", (POINT,), "points is of the type NewPoint, expected a list of points"),
        ("upsert", ([{"vector": [1]}],), r"points\[0\] is of the type dict, expected a NewPoint"),
        ("upsert", (None,), "points is None, expected a list of points"),
        ("bulk", ([POINT, 5],), "point 1 of the load is of the type int, expected a NewPoint"),
        ("bulk", (POINT,), "points is of the type NewPoint, expected a list of points"),
        ("update", ([POINT],), r"points\[0\] is of the type NewPoint, expected a PointUpdate"),
        ("update", (PointUpdate(A),), "points is of the type PointUpdate, expected a list of"),
        ("search_all", ([None],), r"queries\[0\] is None, expected a Query"),
        ("search_all", (5,), "queries is of the type int, expected a list of queries"),
        ("get", (A,), "ids is the text"),
        ("get", (None,), "ids is None, expected a list of ids"),
        ("delete", (5,), "ids is of the type int, expected a list of ids"),
        ("get", ([A, 5],), r"ids\[1\] is 5, expected a UUID"),
        ("update", ([PointUpdate("")],), r"points\[0\]\.id is empty"),
        ("update", ([PointUpdate(A, content=None)],), r"points\[0\]\.content is None, expected a"),
        ("update", ([PointUpdate(A, content_type=None)],), r"points\[0\]\.content_type is None"),
        ("update", ([PointUpdate(A, metadata={1: 1})],), r"points\[0\]\.metadata has the key 1,"),
        (
            "search_all",
            ([Query(similarity=EUCLIDEAN)],),
            r"queries\[0\].vector and .*: expected one",
        ),
        ("delete_all", (-1,), "confirm cannot be sent"),
        ("delete_all", (None,), "confirm is None, expected the number of points that there are: "),
        ("delete_all", (np.True_,), "confirm is True, expected the number of points that there"),
        ("delete_all", (True,), r"confirm is True, .*: client\.delete_all\(client\.count\(\)\)"),
        ("scroll_page", (-1,), "limit cannot be sent"),
    ],
)
async def test_what_cannot_be_sent_is_a_value_error_that_names_it(
    client: Any, name: str, arguments: tuple[Any, ...], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        await getattr(client, name)(*arguments)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 2), r"is of the type datetime: write its timestamp\(\) as a number, or"),
        (date(2026, 1, 2), r"is of the type date: write its isoformat\(\) as a text"),
        (timedelta(days=1), r"is of the type timedelta: write its total_seconds\(\) as a number"),
        (Decimal("0.1"), r"is of the type Decimal: write float\(\) of it as a number"),
        ([UUID(A)], r"is of the type UUID: write str\(\) of it"),
        ({1, 2}, "is of the type set: write a list of its items"),
        (b"x", r"is of the type bytes: write a text, such as its hex\(\)"),
        (object(), "cannot be written as JSON: .* is a object"),
        (math.nan, "is nan, expected a finite number; None stands for no value"),
        ([1.0, -math.inf], "is -inf, expected a finite number"),
        (np.datetime64("2026-01-02"), r"is of the type datetime64: write str\(\) of it as a text"),
        ("a\ud800", "has a half of a surrogate pair, expected Unicode"),
    ],
)
async def test_metadata_that_json_lacks_is_named_with_what_to_write(
    client: Any, value: Any, expected: str
) -> None:
    for write in (
        client.upsert(with_metadata({"a": 1, "k": value})),
        client.update([PointUpdate(A), PointUpdate(A, metadata={"a": 1, "k": value})]),
    ):
        with pytest.raises(InvalidArgumentError, match=rf"points\[1\]\.metadata\.k {expected}"):
            await write
    assert await client.count() == 0


async def test_a_key_of_metadata_that_is_no_unicode_is_named(client: Any) -> None:
    with pytest.raises(ValueError, match=r"points\[1\]\.metadata has the key '.udc00', expected"):
        await client.upsert(with_metadata({"\udc00": 1}))


async def test_what_the_client_refuses_is_an_error_of_the_service_too(client: Any) -> None:
    with pytest.raises(ValueError, match="ids is None") as raised:
        await client.get(None)
    error = raised.value
    assert isinstance(error, InvalidArgumentError)
    assert (error.code, error.retryable, error.is_refusal) == ("INVALID_ARGUMENT", False, True)
    assert str(error) == "INVALID_ARGUMENT: ids is None, expected a list of ids"


async def test_an_empty_place_to_begin_after_is_a_value_error(client: Any) -> None:
    expected = "after is empty, expected the `next` of a page"
    with pytest.raises(ValueError, match=expected):
        await client.scroll_page(1, after="")
    with pytest.raises(ValueError, match=expected):
        await anext(client.scroll(after=""))
    with pytest.raises(ValueError, match="after cannot be sent"):
        await client.scroll_page(1, after=0)


async def test_flags_and_orders_of_another_kind_are_value_errors(client: Any) -> None:
    for write in (client.upsert([POINT], if_absent="no"), client.bulk([POINT], if_absent="no")):
        with pytest.raises(ValueError, match="if_absent is 'no', expected True or False"):
            await write
    expected = (
        r"order is 'last', expected one of Order\.OLDEST, Order\.NEWEST, or of oldest, newest"
    )
    with pytest.raises(ValueError, match=expected):
        await client.scroll_page(1, order="last")
    with pytest.raises(ValueError, match=expected):
        async for _ in client.scroll(order="last"):
            pass
    assert await client.count() == 0


@pytest.mark.parametrize(
    "similarity", [None, "cosine", "Text", "4", 1.9, 4.0, True, 0, 5, ContentType.TEXT, []]
)
async def test_what_is_no_similarity_is_a_value_error(client: Any, similarity: Any) -> None:
    expected = r"similarity is .*, expected one of Similarity\.EUCLIDEAN, .*, Similarity\.COSINE"
    with pytest.raises(ValueError, match=expected):
        await client.search([1, 2, 3, 4], similarity=similarity)
    query = Query(vector=[1, 2, 3, 4], similarity=similarity)
    with pytest.raises(ValueError, match=rf"queries\[0\]\.{expected}"):
        await client.search_all([query])


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
        ({"vector": [1], "include": 5}, "include is of the type int, expected a list of parts"),
        ({"vector": [1], "limit": -1}, "limit cannot be sent"),
        ({"vector": [1], "exact": "no"}, "exact is 'no', expected True or False"),
        ({"vector": [1], "timeout": 0}, "timeout is 0, expected more than 0 seconds"),
        ({"vector": [1], "timeout": math.nan}, "timeout is nan, expected more than 0 seconds"),
        ({"vector": [1], "timeout": "5"}, "timeout is '5', expected more than 0 seconds"),
    ],
)
async def test_a_query_that_cannot_be_sent_is_a_value_error(
    client: Any, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        await client.search(similarity=EUCLIDEAN, **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"address": "http://127.0.0.1:1"}, "address is 'http://.*: this client speaks gRPC alone"),
        ({"address": "localhost"}, "address is 'localhost', expected host:port such as 127"),
        ({"address": "grpc://localhost"}, "address is 'grpc://localhost', expected host:port"),
        ({"address": "localhost:70000"}, "address is 'localhost:70000', expected host:port"),
        ({"address": "::1:50051"}, "address is '::1:50051', expected host:port"),
        ({"address": "dns:///localhost:1"}, "address is 'dns:///localhost:1', expected host:port"),
        ({"address": ""}, "address is '', expected host:port"),
        ({"address": []}, "address is empty, expected host:port of one node or more"),
        ({"address": ["grpc://a:1", "b:1"]}, "address is .*, expected addresses of one scheme"),
        ({"address": "grpc://a:1", "tls": Tls()}, "tls is given for 'grpc://a:1', expected grpcs"),
        ({"address": "grpc://a:1", "tls": True}, "tls is of the type bool, expected a Tls"),
        ({"address": "grpc://u:secret@a:1"}, r"address is 'grpc://\.\.\.@a:1', expected host"),
        ({"key": ""}, "key is empty, expected an API key of the service"),
        ({"address": None}, "address is None, expected host:port"),
        ({"key": "a\nb"}, r"key has the character U\+000A at index 1, expected printable ASCII"),
        ({"key": "é"}, r"key has the character U\+00E9 at index 0, expected printable ASCII"),
        ({"key": b"a"}, "key is of the type bytes, expected a text"),
        ({"timeout": 0}, "timeout is 0, expected more than 0 seconds"),
        ({"timeout": math.nan}, "timeout is nan, expected more than 0 seconds"),
        ({"retries": -1}, "retries is -1, expected 0 or more"),
    ],
)
async def test_a_client_that_cannot_work_is_refused(
    services: Any, options: Any, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        services.open(**{"address": "127.0.0.1:1", **options})


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


async def test_a_search_alone_is_not_named_as_the_first_of_a_list(client: Any) -> None:
    query = Query(vector=[1], similarity=EUCLIDEAN)
    with pytest.raises(InvalidArgumentError) as alone:
        await client.search([1], similarity=EUCLIDEAN)
    assert alone.value.message.startswith("vector has 1 dimensions")
    with pytest.raises(InvalidArgumentError) as listed:
        await client.search_all([query])
    assert listed.value.message.startswith("queries[0]: vector has 1 dimensions")


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
    assert raised.value.message.endswith(
        "(MAX_BATCH); bulk stores any number of points, in batches"
    )
    with pytest.raises(TooLargeError):
        await client.upsert([NewPoint([1, 2, 3, 4], content="x" * 10_000)])
    # So many are refused before any of them is read.
    with pytest.raises(
        TooLargeError, match="points has 10000 items, at most 10 are allowed"
    ) as many:
        await client.upsert([None] * 10_000)
    assert many.value.is_refusal
    with pytest.raises(TooLargeError, match="points 0 to 0 of the load"):
        await client.bulk([NewPoint([1, 2, 3, 4], content="x" * 10_000)])

    await client.bulk(NewPoint([at, 0, 0, 0]) for at in range(130))
    query = Query(vector=[0, 0, 0, 0], similarity=EUCLIDEAN, limit=120, include=[])
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
    # No connection was made, so nothing was sent.
    assert error.is_refusal
    assert error.request_id is None
    with pytest.raises(ConnectionLostError, match="the start of the load"):
        await client.bulk([POINT], patience=0.2)
    with pytest.raises(ConnectionLostError):
        async for _ in client.scroll():
            pass


@pytest.mark.parametrize("timeout", [math.inf, 1e12, 9.3e9, pytest.param(10**400, id="10^400")])
async def test_a_timeout_may_be_longer_than_grpc_can_count(
    services: Any, address: str, empty: None, timeout: float
) -> None:
    patient = services.open(address, timeout=timeout, retries=0)
    await patient.bulk([POINT])
    assert [it.id async for it in patient.scroll(include=[])] == [A]
    assert await services.open(address, retries=0).count(timeout=timeout) == 1


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
