"""Vectors are numpy arrays, in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vectord_client import NewPoint, Query, Similarity, points_of

VALUES = np.array([0.1, -2.5, 3e38, 1e-45], dtype=np.float32)
A = "00000000-0000-4000-8000-00000000000a"


@pytest.mark.parametrize(
    "vector",
    [
        VALUES,
        VALUES.astype(np.float64),
        VALUES.astype(">f4"),
        np.repeat(VALUES, 2)[::2],
        np.asfortranarray(np.stack([VALUES, VALUES]))[1],
        VALUES.tolist(),
        tuple(VALUES),
    ],
    ids=["float32", "float64", "big-endian", "strided", "column-major", "list", "tuple"],
)
async def test_a_vector_comes_back_bit_for_bit(client: Any, vector: Any) -> None:
    await client.upsert([NewPoint(vector, id=A)])
    got = (await client.get([A], include=["vector"])).points[0].vector
    assert got.dtype == np.float32
    assert got.shape == (4,)
    assert got.tobytes() == VALUES.tobytes()
    assert not got.flags.writeable


async def test_an_array_of_many_is_stored_row_by_row(client: Any) -> None:
    vectors = np.random.default_rng(1).random((500, 4), dtype=np.float32)
    contents = [f"text {at}" for at in range(500)]
    metadata = [{"row": np.int64(at), "mean": row.mean()} for at, row in enumerate(vectors)]
    upserted = await client.upsert(points_of(vectors, contents=contents, metadata=metadata))
    got = (await client.get(upserted.ids, include=["vector", "content", "metadata"])).points
    np.testing.assert_array_equal(np.stack([it.vector for it in got]), vectors)
    assert [it.content for it in got] == contents
    assert [it.metadata["row"] for it in got] == list(range(500))
    queries = [Query(vector=row, similarity=Similarity.EUCLIDEAN, limit=1) for row in vectors]
    found = await client.search_all(queries)
    assert [it[0].id for it in found] == upserted.ids


async def test_a_vector_that_came_back_can_be_sent(client: Any) -> None:
    await client.upsert([NewPoint([1, 2, 3, 4], id=A)])
    vector = (await client.get([A], include=["vector"])).points[0].vector
    found = await client.search(vector, similarity=Similarity.EUCLIDEAN)
    assert [(it.id, it.distance) for it in found] == [(A, 0.0)]


def test_lists_of_another_length_and_rows_of_other_values_are_refused() -> None:
    with pytest.raises(ValueError, match="contents has 1 items, expected 2, one for each row"):
        points_of(np.ones((2, 4)), contents=["a"])
    with pytest.raises(ValueError, match=r"vectors has the shape \(4,\), expected \(points, dim"):
        points_of(np.ones(4))
    with pytest.raises(ValueError, match="vectors has the dtype complex64, expected real numbers"):
        points_of(np.ones((2, 4), dtype=np.complex64))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f8"])
async def test_real_numbers_and_booleans_of_any_size_are_converted(client: Any, dtype: str) -> None:
    await client.upsert([NewPoint(np.array([1, 0, 1, 1], dtype=dtype), id=A)])
    got = (await client.get([A], include=["vector"])).points[0].vector
    assert got.tolist() == [1, 0, 1, 1]
