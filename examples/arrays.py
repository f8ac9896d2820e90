"""asyncio and numpy: loads an array of vectors, searches for rows of another, and reads them back.

    .venv/bin/python examples/arrays.py

The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_GRPC its address.
examples/README.md says how to make .venv.
"""

import asyncio
import os

import numpy as np
import numpy.typing as npt
from vectord_client import AsyncClient, Query, Similarity, id_for, points_of

ADDRESS = os.environ.get("VECTORD_GRPC", "127.0.0.1:50051")

# Tells the points of this program from others of the service.
MINE = {"from": "arrays.py"}


async def main() -> None:
    random = np.random.default_rng(1)
    vectors = random.random((2_000, 4), dtype=np.float32)
    queries = random.random((100, 4), dtype=np.float32)
    async with AsyncClient(ADDRESS, key=os.environ["VECTORD_KEY"]) as client:
        await load(client, vectors)
        await search(client, vectors, queries)
        await read_back(client, vectors)
        print((await client.delete_matching(MINE)).deleted, "deleted")


async def load(client: AsyncClient, vectors: npt.NDArray[np.float32]) -> None:
    """Sends the rows in batches, each again for a while if the service restarts meanwhile."""
    rows = range(len(vectors))
    points = points_of(
        vectors,
        ids=[id_for(f"arrays.py {row}") for row in rows],
        metadata=[{**MINE, "row": row} for row in rows],
    )
    done = await client.bulk(points)
    print(done.points, "points loaded")


async def search(
    client: AsyncClient, vectors: npt.NDArray[np.float32], queries: npt.NDArray[np.float32]
) -> None:
    """Finds the nearest point of each query, and compares it with what numpy finds in the array."""
    results = await client.search_all(
        [
            Query(
                vector=query,
                similarity=Similarity.EUCLIDEAN,
                limit=1,
                filter=MINE,
                include=["metadata"],
            )
            for query in queries
        ]
    )
    found = np.array([nearest.metadata["row"] for (nearest,) in results])
    distances = np.linalg.norm(vectors[None, :, :] - queries[:, None, :], axis=2)
    same = int((found == distances.argmin(axis=1)).sum())
    print(f"{same} of {len(queries)} searches find what numpy finds")


async def read_back(client: AsyncClient, vectors: npt.NDArray[np.float32]) -> None:
    """Reads all points into an array again: a stored vector comes back bit for bit."""
    stored = np.empty_like(vectors)
    async for point in client.scroll(filter=MINE, include=["vector", "metadata"]):
        stored[point.metadata["row"]] = point.vector
    print("read back", "the same" if np.array_equal(stored, vectors) else "something else")


asyncio.run(main())
