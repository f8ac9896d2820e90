"""Stores points in a service that goes away meanwhile and comes back.

Arguments: `sync` or `asyncio`, the address of the service, its key, and the number of points. Half
of them are sent at once, the others once a line has come on the standard input. Says after each
batch how many points are stored, and ends with 0 once all are.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import numpy as np

from vectord_client import AsyncClient, BulkProgress, Client, NewPoint, id_for

KIND, ADDRESS, KEY, COUNT = sys.argv[1:]
VECTORS = np.random.default_rng(1).random((int(COUNT), 4), dtype=np.float32)
BATCH_BYTES = 20_000


def points() -> Iterator[NewPoint]:
    for at, vector in enumerate(VECTORS):
        if at == len(VECTORS) // 2:
            sys.stdin.readline()
        yield NewPoint(vector, id=id_for(f"row {at}"))


def say(progress: BulkProgress) -> None:
    print(progress.points, flush=True)


async def load() -> BulkProgress:
    async with AsyncClient(ADDRESS, key=KEY) as client:
        return await client.bulk(points(), batch_bytes=BATCH_BYTES, on_progress=say)


if KIND == "asyncio":
    done = asyncio.run(load())
else:
    with Client(ADDRESS, key=KEY) as client:
        done = client.bulk(points(), batch_bytes=BATCH_BYTES, on_progress=say)
assert done.points == int(COUNT), done
