"""Every operation, through both clients."""

from __future__ import annotations

import asyncio
import os
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from vectord_client import (
    KEEP,
    AsyncClient,
    BulkProgress,
    ConflictError,
    ContentType,
    FilterIndex,
    FilterIndexState,
    GraphState,
    InvalidArgumentError,
    NewPoint,
    NotFoundError,
    Order,
    PointUpdate,
    Query,
    Similarity,
    points_of,
)

from .conftest import Services, empty_service

A = "00000000-0000-4000-8000-00000000000a"
B = "00000000-0000-4000-8000-00000000000b"
C = "00000000-0000-4000-8000-00000000000c"
UNKNOWN = "9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b"


def point(id_: str, x: float, **more: Any) -> NewPoint:
    return NewPoint([x, 0, 0, 0], id=id_, **more)


async def ids_of(points: Any) -> list[str]:
    return [it.id async for it in points]


async def test_upsert_stores_replaces_and_keeps(client: Any) -> None:
    first = await client.upsert([point(A, 1, content="old"), point(B, 2)])
    assert (first.ids, first.stored, first.replaced, first.kept) == ([A, B], 2, 0, 0)
    second = await client.upsert([point(C, 3), point(A, 1)])
    assert (second.ids, second.stored, second.replaced, second.kept) == ([C, A], 1, 1, 0)
    third = await client.upsert([point(A, 9, content="new"), point(UNKNOWN, 4)], if_absent=True)
    assert (third.stored, third.replaced, third.kept) == (1, 0, 1)
    assert (await client.get([A])).points[0].content == ""


async def test_points_get_an_id_of_their_own_where_they_have_none(client: Any) -> None:
    given = UUID("ABCDEFAB-0000-4000-8000-00000000000A")
    upserted = await client.upsert(
        [NewPoint([1, 0, 0, 0]), point(str(given).upper(), 2), NewPoint([3, 0, 0, 0], id=uuid4())]
    )
    assert UUID(upserted.ids[0]).version == 4
    assert upserted.ids[1] == str(given)
    assert (await client.get([given])).points[0].id == str(given)
    assert await client.count() == 3


async def test_get_answers_points_in_the_order_of_the_ids_and_what_is_missing(client: Any) -> None:
    metadata = {
        "number": 1,
        "float": 1.5,
        "text": "é",
        "list": ["a", "b"],
        "none": None,
        "on": True,
    }
    await client.upsert(
        [point(A, 1, content="é", content_type=ContentType.IMAGE, metadata=metadata), point(B, 2)]
    )
    got = await client.get([UNKNOWN, B, A, B])
    assert [it.id for it in got.points] == [B, A]
    assert got.missing == [UNKNOWN]
    b, a = got.points
    assert (a.content, a.content_type, a.metadata) == ("é", ContentType.IMAGE, metadata)
    assert (b.content, b.content_type, b.metadata) == ("", ContentType.TEXT, None)
    assert a.vector is None
    assert a.distance is None


@pytest.mark.parametrize(
    "part", ["vector", "content", "content_type", "metadata", "distance", None]
)
async def test_answers_have_what_is_asked_for_and_nothing_else(client: Any, part: str) -> None:
    await client.upsert([point(A, 1, content="x", metadata={"a": 1})])
    include = [] if part is None else [part]
    search = await client.search([1, 0, 0, 0], similarity=Similarity.EUCLIDEAN, include=include)
    found = [search[0]]
    if part != "distance":
        found.append((await client.get([A], include=include)).points[0])
        found.append((await client.scroll_page(1, include=include)).points[0])
        found += [it async for it in client.scroll(include=include)]
    for it in found:
        assert it.id == A
        for name in ("vector", "content", "content_type", "metadata", "distance"):
            assert (getattr(it, name) is not None) == (name == part)


async def test_search_finds_the_nearest_with_their_distances(client: Any) -> None:
    await client.upsert([point(A, 1), point(B, 2), point(C, 4)])
    ask = {"similarity": Similarity.MANHATTAN}
    found = await client.search([1.5, 0, 0, 0], limit=3, **ask)
    assert [(it.id, it.distance) for it in found] == [(A, 0.5), (B, 0.5), (C, 2.5)]
    assert [it.id for it in await client.search([4, 0, 0, 0], limit=1, ef=9, **ask)] == [C]
    near = await client.search([1, 0, 0, 0], max_distance=1.0, exact=True, **ask)
    assert [it.id for it in near] == [A, B]
    like = await client.search(like=B, limit=2, **ask)
    assert [(it.id, it.distance) for it in like] == [(A, 1.0), (C, 2.0)]
    with pytest.raises(NotFoundError, match=f"like is {UNKNOWN}, which is the id of no point"):
        await client.search(like=UNKNOWN, **ask)


@pytest.mark.parametrize(
    ("similarity", "distance"),
    [
        (Similarity.EUCLIDEAN, 5.0),
        (Similarity.MANHATTAN, 7.0),
        (Similarity.HAMMING, 2.0),
        (Similarity.COSINE, 1.0),
    ],
)
async def test_distances_are_those_of_the_similarity(
    client: Any, similarity: Similarity, distance: float
) -> None:
    await client.upsert([NewPoint([3, 4, 0, 0], id=A)])
    found = await client.search([0, 0, 0, 0], similarity=similarity)
    assert [it.distance for it in found] == [distance]


async def test_search_all_answers_a_list_for_each_query(client: Any) -> None:
    await client.upsert([point(A, 1), point(B, 2)])
    results = await client.search_all(
        [
            Query(vector=[2, 0, 0, 0], similarity=Similarity.EUCLIDEAN, limit=1),
            Query(like=A, similarity=Similarity.EUCLIDEAN, include=["content"]),
            Query(vector=[0, 0, 0, 0], similarity=Similarity.EUCLIDEAN, max_distance=0.5),
        ]
    )
    assert [[it.id for it in found] for found in results] == [[B], [B], []]
    assert results[1][0].content == ""


async def test_scroll_reads_all_points_from_either_end(client: Any) -> None:
    vectors = np.arange(12_000, dtype=np.float32).reshape(3_000, 4)
    stored = (await client.upsert(points_of(vectors))).ids
    assert await ids_of(client.scroll(include=[])) == stored
    assert await ids_of(client.scroll(order=Order.NEWEST, include=[])) == stored[::-1]
    rows = [it.vector async for it in client.scroll(include=["vector"])]
    np.testing.assert_array_equal(np.stack(rows), vectors)
    page = await client.scroll_page(1_000, include=[])
    assert await ids_of(client.scroll(after=page.next, include=[])) == stored[1_000:]


async def test_a_scroll_may_be_left(client: Any) -> None:
    await client.upsert(points_of(np.ones((3_000, 4), dtype=np.float32)))
    async for it in client.scroll(include=[]):
        assert it.id
        break
    assert await client.count() == 3_000


async def test_scroll_page_reads_page_by_page(client: Any) -> None:
    await client.upsert([point(A, 1), point(B, 2), point(C, 3)])
    first = await client.scroll_page(2)
    assert [it.id for it in first.points] == [A, B]
    second = await client.scroll_page(2, after=first.next)
    assert [it.id for it in second.points] == [C]
    assert second.next is None
    newest = await client.scroll_page(1, order=Order.NEWEST)
    assert [it.id for it in newest.points] == [C]


async def test_delete_answers_what_is_missing(client: Any) -> None:
    await client.upsert([point(A, 1), point(B, 2)])
    deleted = await client.delete([A, UNKNOWN, A])
    assert (deleted.deleted, deleted.missing) == (1, [UNKNOWN])
    assert await client.count() == 1


async def test_delete_all_needs_the_number_of_points(client: Any) -> None:
    await client.upsert([point(A, 1), point(B, 2)])
    with pytest.raises(ConflictError, match="2 points"):
        await client.delete_all(1)
    deleted = await client.delete_all(2)
    assert (deleted.deleted, deleted.missing) == (2, [])
    assert await client.count() == 0


async def test_update_changes_what_is_given_and_nothing_else(client: Any) -> None:
    await client.upsert([point(A, 1, content="x", metadata={"a": 1}), point(B, 2)])
    updated = await client.update(
        [
            PointUpdate(A, content="y", content_type=KEEP),
            PointUpdate(UNKNOWN, content="z"),
            PointUpdate(B, content_type=ContentType.IMAGE, metadata={"b": [True, False]}),
        ]
    )
    assert (updated.updated, updated.missing) == (2, [UNKNOWN])
    a, b = (await client.get([A, B])).points
    assert (a.content, a.content_type, a.metadata) == ("y", ContentType.TEXT, {"a": 1})
    assert (b.content, b.content_type, b.metadata) == ("", ContentType.IMAGE, {"b": [True, False]})
    await client.update([PointUpdate(A, metadata=None)])
    assert (await client.get([A])).points[0].metadata is None
    found = await client.search([1, 0, 0, 0], similarity=Similarity.EUCLIDEAN, limit=1)
    assert [(it.id, it.distance) for it in found] == [(A, 0.0)]


async def test_info_tells_what_the_service_is(client: Any) -> None:
    await client.upsert([point(A, 1)])
    info = await client.info()
    assert (info.dimension, info.points) == (4, 1)
    assert info.version
    assert info.bytes > 0
    assert info.limits.max_batch > 0
    graph = next(it for it in info.graphs if it.similarity is Similarity.HAMMING)
    assert graph.state in (GraphState.BUILDING, GraphState.READY)
    assert graph.bytes >= graph.linked
    assert 0 <= graph.idle_seconds < 3600


async def test_info_tells_of_the_fields_that_were_filtered_by(client: Any) -> None:
    await client.upsert([point(A, 1)])
    assert await client.count(filter={"indexed": {"$exists": False}}) == 1

    async def part() -> FilterIndex:
        parts = (await client.info()).filter_index
        assert [it.field for it in parts] == sorted(it.field for it in parts)
        return next(it for it in parts if it.field == "indexed")

    until = asyncio.get_running_loop().time() + 10
    while (found := await part()).state is FilterIndexState.BUILDING:
        assert asyncio.get_running_loop().time() < until
        await asyncio.sleep(0.01)
    assert found.state is FilterIndexState.READY
    assert found.bytes > 0


async def test_a_field_without_room_in_the_filter_index_is_scanned(
    services: Services, small_address: str
) -> None:
    empty_service(small_address)
    client = services.open(small_address)
    await client.upsert(point(id_, 1) for id_ in (A, B))
    assert await client.count(filter={"scanned": {"$exists": False}}) == 2
    info = await client.info()
    assert info.limits.max_filter_index_bytes == 1
    found = next(it for it in info.filter_index if it.field == "scanned")
    assert found.state is FilterIndexState.SCANNED
    assert found.bytes >= 2 * 8


async def test_bulk_stores_batch_after_batch_and_tells_how_far_it_is(client: Any) -> None:
    vectors = np.random.default_rng(1).random((2_000, 4), dtype=np.float32)
    ids = [str(UUID(int=at + 1)) for at in range(len(vectors))]
    seen: list[BulkProgress] = []
    load = points_of(vectors, ids=ids)
    done = await client.bulk(load, batch_bytes=8_192, window=3, on_progress=seen.append)
    assert (done.points, done.stored, done.replaced, done.kept) == (2_000, 2_000, 0, 0)
    assert done.repeats == 0
    assert len(seen) == done.batches
    assert done.batches > 10
    assert [it.points for it in seen] == sorted({it.points for it in seen})
    assert seen[-1].points == 2_000
    assert max(b.bytes - a.bytes for a, b in pairwise(seen)) <= 8_192
    assert await ids_of(client.scroll(include=[], order=Order.OLDEST))
    again = await client.bulk(points_of(vectors, ids=ids), if_absent=True)
    assert (again.stored, again.replaced, again.kept) == (0, 0, 2_000)
    assert await client.count() == 2_000


async def test_bulk_keeps_to_the_limits_of_the_service(services: Any, small_address: str) -> None:
    client = services.open(small_address)
    await client.delete_all(await client.count())
    text = "x" * 3_000
    done = await client.bulk(NewPoint([at, 0, 0, 0], content=text) for at in range(8))
    assert (done.points, done.batches) == (8, 4)
    done = await client.bulk(NewPoint([at, 0, 0, 0]) for at in range(25))
    assert (done.points, done.batches) == (25, 3)


async def test_bulk_sends_no_more_than_some_thousand_points_at_once(client: Any) -> None:
    seen: list[BulkProgress] = []
    load = (NewPoint([1, 0, 0, 0]) for _ in range(10_000))
    await client.bulk(load, window=1, on_progress=seen.append)
    assert [it.points for it in seen] == [4_096, 8_192, 10_000]


async def test_bulk_names_the_points_that_are_refused(client: Any) -> None:
    vectors = [[at, 0, 0, 0] for at in range(300)]
    vectors[250] = [1, 2]
    seen: list[BulkProgress] = []
    with pytest.raises(InvalidArgumentError) as raised:
        await client.bulk(
            (NewPoint(it) for it in vectors), batch_bytes=1_000, window=2, on_progress=seen.append
        )
    assert "of the load: points[" in raised.value.message
    assert "vector has 2" in raised.value.message
    stored = seen[-1].points
    assert raised.value.message.startswith(f"points {stored} to ")
    assert stored <= 250
    assert await client.count() >= stored


async def test_bulk_takes_what_comes_over_time(address: str, empty: None) -> None:
    async def points() -> Any:
        for at in range(50):
            yield NewPoint([at, 0, 0, 0])

    async with AsyncClient(address, key=os.environ["VECTORD_KEY"]) as client:
        done = await client.bulk(points(), batch_bytes=1_000)
        assert (done.points, await client.count()) == (50, 50)


@pytest.mark.parametrize(("if_absent", "stays"), [(False, 99), (True, 0)])
async def test_of_points_with_one_id_in_a_load_the_last_stays(
    client: Any, if_absent: bool, stays: int
) -> None:
    load = [point(it, at) for at in range(100) for it in (A, B.upper(), str(uuid4()))]
    done = await client.bulk(load, window=4, batch_bytes=1_000, if_absent=if_absent)
    assert (done.points, done.stored) == (300, 102)
    assert (done.kept if if_absent else done.replaced) == 198
    for it in (await client.get([A, B], include=["vector"])).points:
        assert it.vector[0] == stays


async def test_bulk_of_nothing_is_nothing(client: Any) -> None:
    assert (await client.bulk([])).points == 0


@pytest.mark.parametrize(
    "names",
    [
        (np.int64(2), 2, 1, np.int32(2)),
        ("newest", "Image", "Text", "Manhattan"),
    ],
)
async def test_members_of_enumerations_may_be_given_as_numbers_and_by_name(
    client: Any, names: tuple[Any, ...]
) -> None:
    newest, image, text, manhattan = names
    points = [NewPoint([1, 0, 0, 0], id=it, content_type=image) for it in (A, B)]
    await client.upsert(points, if_absent=np.bool_(True))
    (point,) = (await client.scroll_page(1, order=newest)).points
    assert (point.id, point.content_type) == (B, ContentType.IMAGE)
    assert [it.id async for it in client.scroll(order=newest)] == [B, A]
    await client.update([PointUpdate(A, content_type=text)])
    assert (await client.get([A])).points[0].content_type is ContentType.TEXT
    found = await client.search([3, 4, 0, 0], similarity=manhattan)
    assert [it.distance for it in found] == [6.0, 6.0]


async def test_a_search_answers_distance_content_and_metadata_unless_told_otherwise(
    client: Any,
) -> None:
    await client.upsert([point(A, 1, content="x", metadata={"a": 1})])
    query = Query(vector=[1, 0, 0, 0], similarity="Euclidean")
    found = await client.search(query.vector, similarity="Euclidean")
    for it in (*found, *(await client.search_all([query]))[0]):
        assert (it.distance, it.content, it.metadata) == (0.0, "x", {"a": 1})
        assert (it.vector, it.content_type) == (None, None)


@pytest.mark.parametrize("form", ["grpc://{}", "grpc://{}/", "{}"])
async def test_an_address_may_have_its_scheme(services: Any, address: str, form: str) -> None:
    client = services.open(form.format(address))
    assert (await client.info()).dimension == 4
