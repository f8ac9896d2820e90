"""Uses the service through the published Python client: its synchronous and its asynchronous one.

Arguments: the address of the gRPC interface, a readwrite key and a readonly key. The service
stores 4 dimensions and is empty. Ends with 0 if all is as expected.
"""

import asyncio
import sys

from vortexdb import AsyncVortexDB, DenseVector, Payload, Similarity, VortexDB
from vortexdb.exceptions import (
    AuthenticationError,
    InternalServerError,
    InvalidArgumentError,
    NotFoundError,
)
from vortexdb.models import ContentType

ADDRESS, READWRITE_KEY, READONLY_KEY = sys.argv[1:]
NO_POINT = "00000000-0000-4000-8000-000000000000"
QUERY = DenseVector([2, 2, 2, 2])
POINTS = [
    (DenseVector([2, 2, 2, 6]), Payload.text("first, é")),
    (DenseVector([3.5, 3.5, 3.5, 3.5]), Payload.image("second")),
    (DenseVector([2, 2, 4.5, 4.5]), Payload.text("")),
    (DenseVector([20, 20, 20, 2]), Payload.text("fourth")),
]
# Which points are closest to the query, worked out by hand.
ORDERS = {
    Similarity.EUCLIDEAN: [1, 2, 0, 3],
    Similarity.MANHATTAN: [0, 2, 1, 3],
    Similarity.HAMMING: [0, 2, 3, 1],
    Similarity.COSINE: [1, 2, 3, 0],
}


class Awaitable:
    """Gives the synchronous client the asynchronous one's manners, so that one text tests both."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        method = getattr(self._client, name)  # AttributeError if there is none: see hasattr

        async def call(**arguments):
            return method(**arguments)

        return call


async def use(client, reader, stranger):
    vector, payload = POINTS[0]
    point_id = await client.insert(vector=vector, payload=payload)
    point = await client.get(point_id=point_id)
    assert point.id == point_id, point
    assert point.vector == vector, point
    assert point.payload == payload, point
    await client.delete(point_id=point_id)
    await fails(NotFoundError, client.get(point_id=point_id))
    await fails(NotFoundError, client.delete(point_id=NO_POINT))

    ids = await insert_all(client)
    kinds = [(await client.get(point_id=it)).payload.content_type for it in ids]
    assert kinds == [ContentType.TEXT, ContentType.IMAGE, ContentType.TEXT, ContentType.TEXT], kinds
    expected = {metric: [ids[at] for at in order] for metric, order in ORDERS.items()}
    for metric, closest in expected.items():
        found = await client.search(vector=QUERY, similarity=metric, limit=10)
        assert found == closest, (metric, found)
        found = await reader.search(vector=QUERY, similarity=metric, limit=2, ef=50)
        assert found == closest[:2], (metric, found)
    if hasattr(client, "search_batch"):
        queries = [(QUERY, metric, 3) for metric in ORDERS]
        found = await client.search_batch(queries=queries)
        assert found == [closest[:3] for closest in expected.values()], found

    short = DenseVector([1, 2, 3])
    await fails(InvalidArgumentError, client.insert(vector=short, payload=payload))
    query = {"similarity": Similarity.COSINE, "limit": 1}
    await fails(InvalidArgumentError, client.search(vector=short, **query))
    await fails(InvalidArgumentError, client.get(point_id="no-uuid"))
    await fails(AuthenticationError, stranger.get(point_id=ids[0]))
    await fails(AuthenticationError, stranger.insert(vector=vector, payload=payload))
    # The client has no exception of its own for PERMISSION_DENIED.
    await fails(InternalServerError, reader.insert(vector=vector, payload=payload))

    for it in ids:
        await client.delete(point_id=it)
    assert await client.search(vector=QUERY, similarity=Similarity.EUCLIDEAN, limit=9) == []


async def insert_all(client):
    """In one batch, which the asynchronous client of this version does not have."""
    if hasattr(client, "insert_batch"):
        return await client.insert_batch(points=POINTS)
    return [await client.insert(vector=vector, payload=payload) for vector, payload in POINTS]


async def fails(expected, call):
    try:
        result = await call
    except expected as error:
        assert type(error) is expected, error
        return
    raise AssertionError(f"expected {expected.__name__}, got {result}")


def test_sync():
    keys = (READWRITE_KEY, READONLY_KEY, "wrong")
    clients = [VortexDB(grpc_url=ADDRESS, api_key=key) for key in keys]
    asyncio.run(use(*map(Awaitable, clients)))
    for client in clients:
        client.close()


async def test_async():
    keys = (READWRITE_KEY, READONLY_KEY, "wrong")
    clients = [AsyncVortexDB(grpc_url=ADDRESS, api_key=key) for key in keys]
    await use(*clients)
    for client in clients:
        await client.close()


test_sync()
print("synchronous client: as expected")
asyncio.run(test_async())
print("asynchronous client: as expected")
