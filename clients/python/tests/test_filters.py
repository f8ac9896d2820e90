"""Filters on metadata, through both clients."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vectord_client import (
    ContentType,
    Filter,
    InvalidArgumentError,
    NewPoint,
    Order,
    PermissionDeniedError,
    Query,
    Similarity,
)

EUCLIDEAN = Similarity.EUCLIDEAN


def table() -> list[list[str]]:
    """The cells of the table in docs/FILTERS.md: what points have under `x`, and below it for each
    condition which of them pass."""
    document = (Path(__file__).parents[3] / "docs/FILTERS.md").read_text(encoding="utf-8")
    part = document.split("\n## Every operator on every type\n")[1]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines]
    return [rows[0], *rows[2:]]


(_, *STORED), *ROWS = table()
CASES = [
    pytest.param(json.loads(condition), [cell == "yes" for cell in cells], id=condition)
    for condition, *cells in ROWS
]


def id_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


ALL = [id_of(number) for number, _ in enumerate(STORED)]


@pytest.fixture
async def stored(client: Any) -> Any:
    """A client of a service that has the points of the table."""
    await client.upsert(
        NewPoint(
            [number, 0, 0, 0],
            id=id_of(number),
            metadata=None if text == "nothing" else {"x": json.loads(text)},
        )
        for number, text in enumerate(STORED)
    )
    return client


async def passing(client: Any, filter: Filter) -> list[str]:
    return [point.id async for point in client.scroll(filter=filter, include=[])]


def nested(depth: int) -> Filter:
    """As many `$not` within each other."""
    return {"$not": nested(depth - 1)} if depth > 0 else {}


def test_the_table_is_whole() -> None:
    assert len(STORED) == 12
    assert len(ROWS) > 20
    assert {cell for _, *cells in ROWS for cell in cells} == {"yes", "no"}
    assert all(len(row) == 13 for row in ROWS)


@pytest.mark.parametrize(("condition", "passes"), CASES)
async def test_a_condition_passes_what_the_table_says(
    stored: Any, condition: Any, passes: list[bool]
) -> None:
    filter = {"x": condition}
    expected = [id_ for id_, does in zip(ALL, passes, strict=True) if does]
    assert await passing(stored, filter) == expected
    assert await stored.count(filter=filter) == len(expected)
    page = await stored.scroll_page(100, filter=filter, include=[])
    assert [point.id for point in page.points] == expected


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({}, ALL),
        ({"$not": {}}, []),
        ({"x": 1, "$or": [{"x": "a"}, {"x": 2}]}, [id_of(10)]),
        ({"$or": ({"x": "a"}, {"x": 2})}, [id_of(it) for it in (2, 5, 9, 10)]),
        ({"$and": [{"x": "a"}, {"$not": {"x": "b"}}]}, [id_of(2)]),
        ({"$and": [{}]}, ALL),
        ({"$id": id_of(2)}, [id_of(2)]),
        ({"$id": {"$in": [id_of(2), id_of(99)]}, "x": {"$exists": True}}, [id_of(2)]),
        ({"$content_type": "Image"}, []),
        ({"$content_type": {"$ne": "Image"}}, ALL),
        (nested(16), ALL),
    ],
)
async def test_filters_are_combined(stored: Any, filter: Filter, expected: list[str]) -> None:
    assert await passing(stored, filter) == expected


@pytest.mark.parametrize(
    "filter",
    [
        {"x": {"$in": (np.str_("b"), np.int64(2))}},
        {"x": {"$in": ["b", np.float32(2)]}},
        {"$or": [{"x": "b"}, {"x": np.longdouble(2)}]},
        {"$or": [{"x": "b"}, {"x": {"$gt": np.uint8(1), "$lt": 2**1000}}]},
    ],
)
async def test_values_of_numpy_are_those_of_python(stored: Any, filter: Any) -> None:
    assert await passing(stored, filter) == [id_of(it) for it in (3, 5, 9, 10)]
    assert await stored.count(filter={"x": np.bool_(True)}) == 2
    assert await stored.count(filter={"x": {"$exists": np.bool_(False)}}) == 2


async def test_a_search_finds_what_passes(stored: Any) -> None:
    query = {"similarity": EUCLIDEAN, "include": []}
    found = await stored.search([0, 0, 0, 0], filter={"x": {"$gte": 1}}, limit=2, **query)
    assert [point.id for point in found] == [id_of(4), id_of(5)]
    found = await stored.search(like=id_of(4), filter={"x": 1}, **query)
    assert [point.id for point in found] == [id_of(10)]
    results = await stored.search_all(
        [
            Query(vector=[0, 0, 0, 0], filter={"x": True}, exact=True, **query),
            Query(vector=[0, 0, 0, 0], filter={}, limit=1, **query),
            Query(vector=[0, 0, 0, 0], limit=1, **query),
        ]
    )
    assert [[point.id for point in points] for points in results] == [
        [id_of(6), id_of(11)],
        [id_of(0)],
        [id_of(0)],
    ]


async def test_a_scroll_goes_on_behind_each_page(stored: Any) -> None:
    filter = {"x": {"$exists": True}}
    found: list[str] = []
    after: str | None = None
    while after is not None or not found:
        page = await stored.scroll_page(3, filter=filter, after=after, order=Order.NEWEST)
        found += [point.id for point in page.points]
        after = page.next
    assert found == ALL[:1:-1]


async def test_images_are_told_from_texts(client: Any) -> None:
    point = NewPoint([1, 0, 0, 0], id=id_of(1), content_type=ContentType.IMAGE)
    await client.upsert([point, NewPoint([1, 0, 0, 0])])
    assert await passing(client, {"$content_type": "Image"}) == [id_of(1)]


async def test_a_delete_deletes_what_passes(
    stored: Any, services: Any, address: str, readonly_key: str
) -> None:
    deleted = await stored.delete_matching({"x": {"$in": ["a", 1]}})
    assert (deleted.deleted, deleted.missing) == (4, [])
    assert await stored.count() == 8
    assert await stored.count(filter={"x": "a"}) == 0
    for filter, place in (
        ({}, ""),
        ({"$and": [{}]}, ".$and[0]"),
        ({"$or": [{"x": 2}, {}]}, ".$or[1]"),
        ({"$not": {}}, ".$not"),
    ):
        refusal = re.escape(f"filter{place} is empty, expected at least one condition")
        with pytest.raises(InvalidArgumentError, match=refusal):
            await stored.delete_matching(filter)
    with pytest.raises(ValueError, match="filter is None, expected a filter"):
        await stored.delete_matching(None)
    reader = services.open(address, key=readonly_key)
    with pytest.raises(PermissionDeniedError):
        await reader.delete_matching({"x": 2})
    assert await reader.count() == 8


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("x", "filter is 'x', expected a filter, which is a mapping"),
        ([], "filter is of the type list, expected a filter"),
        ({1: 2}, "filter has the key 1, expected a text"),
        ({"\ud800": 2}, r"filter has the key '\ud800', expected a text"),
        ({"x": None}, "filter.x is None, expected a text, a bool or a finite number"),
        ({"x": float("nan")}, "filter.x is nan, expected a text"),
        ({"x": np.float32("-inf")}, "filter.x is -inf, expected a text"),
        ({"x": {"$lt": 10**400}}, "filter.x.$lt is beyond the range of a float, expected"),
        (
            {"x": {"$in": [2**53, -(2**53) - 1]}},
            "filter.x.$in[1] is -9007199254740993, which no float has exactly, expected a text",
        ),
        ({"x": np.int64(2**53 + 1)}, "filter.x is 9007199254740993, which no float"),
        ({"x": ["a"]}, "filter.x is of the type list, expected a text"),
        ({"x": b"a"}, "filter.x is of the type bytes"),
        ({"x": 1j}, "filter.x is of the type complex"),
        ({"x": np.datetime64(0, "s")}, "filter.x is of the type datetime64"),
        ({"x": "a\ud800"}, "filter.x has a half of a surrogate pair, expected Unicode"),
        ({"x": {}}, "filter.x is empty, expected a value or operators"),
        ({"x": {"$foo": 1}}, "filter.x.$foo is '$foo', expected one of $eq, $ne, $gt, $gte,"),
        ({"x": {"y": 1}}, "filter.x.y is 'y', expected one of $eq"),
        ({"x": {"$in": "a"}}, "filter.x.$in is 'a', expected a list"),
        ({"x": {"$nin": {1, 2}}}, "filter.x.$nin is of the type set, expected a list"),
        ({"x": {"$in": [1, None]}}, "filter.x.$in[1] is None, expected a text"),
        ({"x": {"$exists": 1}}, "filter.x.$exists is of the type int, expected True or False"),
        ({"x": {"$exists": 10**5000}}, "filter.x.$exists is of the type int, expected True or"),
        ({"$foo": 1}, "filter.$foo is '$foo', expected one of $and, $or, $not, $id, $content_type"),
        ({"$or": []}, "filter.$or is empty, expected a list of at least one filter"),
        ({"$and": ()}, "filter.$and is empty, expected a list of at least one filter"),
        ({"$and": {"x": 1}}, "filter.$and is of the type dict, expected a list"),
        ({"$or": [{"x": 1}, True]}, "filter.$or[1] is True, expected a filter"),
        ({"$not": "y" * 1_000}, f"filter.$not is '{'y' * 64}...', expected a filter"),
        (nested(17), f"filter{'.$not' * 17} is a filter, expected at most 16 of $and, $or and"),
    ],
)
async def test_what_cannot_be_sent_is_a_value_error_that_names_its_place(
    client: Any, filter: Any, message: str
) -> None:
    for call in (
        client.count(filter=filter),
        client.scroll_page(1, filter=filter),
        client.search([1, 0, 0, 0], similarity=EUCLIDEAN, filter=filter),
        client.delete_matching(filter),
    ):
        with pytest.raises(ValueError) as raised:  # noqa: PT011 -- compared as a text
            await call
        assert raised.value.message.startswith(message)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        await passing(client, filter)
    assert raised.value.message.startswith(message)
    queries = [Query(vector=[1, 0, 0, 0], similarity=EUCLIDEAN, filter=it) for it in ({}, filter)]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        await client.search_all(queries)
    assert raised.value.message.startswith(f"queries[1].{message}")


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"x": {"$gt": True}}, r"filter\.x\.\$gt is true, expected a string or a finite number"),
        ({"$id": "x"}, r'filter\.\$id(\.\$eq)? is "x", expected a UUID'),
        ({"$id": {"$gt": "x"}}, r"filter\.\$id\.\$gt is unknown, expected \$eq, \$ne, \$in or"),
        ({"x": {"$in": [1] * 10_001}}, r"filter\.x\.\$in is 10001, expected at most 10000 items"),
    ],
)
async def test_what_breaks_a_rule_is_refused_by_the_service(
    client: Any, filter: Filter, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^INVALID_ARGUMENT: {message}"):
        await client.count(filter=filter)
    query = Query(vector=[1, 0, 0, 0], similarity=EUCLIDEAN, filter=filter)
    with pytest.raises(InvalidArgumentError, match=rf"queries\[0\]\.{message}"):
        await client.search_all([query])
