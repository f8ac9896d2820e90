"""Stores points that are the same each time, in a service that may go away meanwhile.

Arguments: `sync` or `asyncio`, the address of the service, its key, the number of points, and their
dimension. Ends with 0 once all are stored.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import numpy as np

from vectord_client import AsyncClient, BulkProgress, Client, NewPoint, id_for

KIND, ADDRESS, KEY = sys.argv[1:4]
COUNT, DIMENSION = map(int, sys.argv[4:])


def points() -> Iterator[NewPoint]:
    for number in range(COUNT):
        vector = np.full(DIMENSION, number % 1_000, dtype=np.float32)
        vector[number % DIMENSION] = number
        yield NewPoint(vector, id=id_for(str(number)), content=str(number))


async def load() -> BulkProgress:
    async with AsyncClient(ADDRESS, key=KEY) as client:
        return await client.bulk(points())


if KIND == "asyncio":
    done = asyncio.run(load())
else:
    with Client(ADDRESS, key=KEY) as client:
        done = client.bulk(points())
assert done.points == COUNT, done
