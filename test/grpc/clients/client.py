"""Does the steps of steps.ts with grpc-python, by its synchronous or its asynchronous interface.

Arguments: the folder of the proto files, `sync` or `asyncio`, the address of the gRPC interface and
a readwrite key. Each line of the input names a step; the answer is `ok`, or what went wrong.
"""

import asyncio
import sys
import traceback

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

PROTO_FOLDER, API, ADDRESS, KEY = sys.argv[1:]
sys.path.append(PROTO_FOLDER)
messages, services = grpc.protos_and_services("vectordb/vectordb.proto")

DIMENSION = 16
SERVICE = "vectordb.VectorDB"
BATCH = 100
CONTENT_CHARACTERS = 16_384
MANY_QUERIES = 1_000
HEAVY_QUERIES = 50_000
SHORT_S = 0.05
# Two centuries: grpc-python takes a later point in time for one that has passed.
LONGEST_S = 200 * 365 * 24 * 3_600
MIB = 1024 * 1024
CANCELLED_MIB = 24
CANCEL_AFTER_S = 0.02
PARALLEL = 500
UNUSUAL_ID = "100 % größer, %41 ✓ 中文 😀"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]


class SyncMethod:
    """Gives a method of the synchronous interface the asynchronous one's manners."""

    def __init__(self, method):
        self._method = method

    def __call__(self, request, **options):
        if hasattr(self._method, "future"):
            return SyncCall(self._method, request, options)
        return SyncStream(self._method(request, **options))


class SyncCall:
    """A call that blocks a thread until its answer; if it was begun first, it can be cancelled."""

    def __init__(self, method, request, options):
        self._method, self._request, self._options = method, request, options
        self._future = None

    def begin(self):
        self._future = self._method.future(self._request, **self._options)
        return self

    def cancel(self):
        self._future.cancel()

    def __await__(self):
        if self._future is None:
            blocking = asyncio.to_thread(self._method, self._request, **self._options)
            return blocking.__await__()
        return self._wait().__await__()

    async def _wait(self):
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self._future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
        await done.wait()
        return self._future.result()


class SyncStream:
    """Messages of a server, each waited for in a thread."""

    def __init__(self, call):
        self._call = call
        self._messages = iter(call)

    def cancel(self):
        self._call.cancel()

    def __aiter__(self):
        return self

    async def __anext__(self):
        message = await asyncio.to_thread(next, self._messages, None)
        if message is None:
            raise StopAsyncIteration
        return message


class Client:
    def __init__(self, channel, wrap):
        vectordb, health = services.VectorDBStub(channel), health_pb2_grpc.HealthStub(channel)
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        self._vectordb = vectordb
        self._wrap = wrap
        self.check = wrap(health.Check)
        self._watch = wrap(health.Watch)
        self._list = wrap(reflection.ServerReflectionInfo)

    def call(self, name, request, metadata=(), **options):
        metadata = (("authorization", KEY), *metadata)
        call = self._wrap(getattr(self._vectordb, name))(request, metadata=metadata, **options)
        return call

    def begin(self, name, request, **options):
        """Begins at once, on any interface."""
        call = self.call(name, request, **options)
        return call.begin() if hasattr(call, "begin") else call

    def watch(self, **options):
        return self._watch(health_pb2.HealthCheckRequest(service=SERVICE), **options)

    async def list_services(self):
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        answers = [answer async for answer in self._list(asked)]
        listed = [answer.list_services_response.service for answer in answers]
        return [service.name for services in listed for service in services]


async def use_all(client, **options):
    inserted = await client.call("InsertVector", point(7), **options)
    expected = messages.Point(id=inserted, vector=vector(7), payload=point(7).payload)
    equal(await client.call("GetPoint", inserted, **options), expected)
    found = await client.call("SearchPoints", query(7, 1), **options)
    equal(list(found.result_point_ids), [inserted])
    await client.call("DeletePoint", inserted, **options)
    error = await failure(client.call("GetPoint", inserted, **options))
    equal((error.code(), error.details()), (grpc.StatusCode.NOT_FOUND, "Point not found"))


async def use_batch(client, **options):
    ids = await insert_batch(client, **options)
    queries = [query(index % BATCH, BATCH) for index in range(MANY_QUERIES)]
    request = messages.SearchPointsBatchRequest(queries=queries)
    answer = await client.call("SearchPointsBatch", request, **options)
    equal(len(answer.results), MANY_QUERIES)
    for index, result in enumerate(answer.results):
        equal(len(result.result_point_ids), BATCH)
        equal(result.result_point_ids[0], ids[index % BATCH])
    await delete_all(client, ids)


async def send_gzip(client):
    await use_batch(client, compression=grpc.Compression.Gzip)


async def send_deflate(client):
    await use_batch(client, compression=grpc.Compression.Deflate)


async def read_details(client):
    error = await failure(client.call("GetPoint", point_id(UNUSUAL_ID)))
    equal(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
    expected = f'id is "{UNUSUAL_ID}", expected a UUID (8-4-4-4-12 hexadecimal digits)'
    equal(error.details(), expected)


async def send_binary_metadata(client):
    metadata = (("x-trace-bin", bytes(range(256))),)
    found = await client.call("SearchPoints", query(0, 1), metadata=metadata)
    equal(list(found.result_point_ids), [])


async def pass_deadline(client):
    error = await failure(collect(client.watch(timeout=SHORT_S), []))
    equal(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
    ids = await insert_batch(client, characters=0)
    error = await failure(client.call("SearchPointsBatch", heavy_search(), timeout=SHORT_S))
    equal(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
    await delete_all(client, ids)


async def have_longest_deadline(client):
    found = await client.call("SearchPoints", query(0, 1), timeout=LONGEST_S)
    equal(list(found.result_point_ids), [])


async def cancel_upload(client):
    payload = messages.Payload(content_type=messages.Text, content="x" * MIB)
    item = messages.InsertVectorRequest(vector=vector(0), payload=payload)
    request = messages.InsertVectorsBatchRequest(vectors=[item] * CANCELLED_MIB)
    upload = client.begin("InsertVectorsBatch", request)
    await asyncio.sleep(CANCEL_AFTER_S)
    upload.cancel()
    try:
        await upload
    except (asyncio.CancelledError, grpc.FutureCancelledError):
        await use_all(client)
        return
    raise AssertionError("the upload was not cancelled")


async def ask_for_health(client):
    checked = await client.check(health_pb2.HealthCheckRequest(service=SERVICE))
    equal(checked.status, SERVING)
    watching = client.watch()
    async for answer in watching:
        equal(answer.status, SERVING)
        watching.cancel()
        break


async def list_services(client):
    equal(await client.list_services(), [SERVICE, "vectord.v1.PointsService", "grpc.health.v1.Health"])


async def call_in_parallel(client):
    ids = await insert_batch(client, characters=0)
    calls = [client.begin("GetPoint", ids[index % BATCH]) for index in range(PARALLEL)]
    for index, call in enumerate(calls):
        equal((await call).payload, point(index % BATCH, 0).payload)
    await delete_all(client, ids)


async def outlive_server(client):
    seen = []
    watched = asyncio.create_task(collect(client.watch(), seen))
    ids = await insert_batch(client, characters=0)
    answer = await client.call("SearchPointsBatch", heavy_search())
    equal(len(answer.results), HEAVY_QUERIES)
    for index in (0, 1, HEAVY_QUERIES - 1):
        equal(list(answer.results[index].result_point_ids), [ids[index % BATCH]])
    await watched
    equal(seen, [SERVING, NOT_SERVING])
    error = await failure(client.call("SearchPoints", query(0, 1)))
    equal(error.code(), grpc.StatusCode.UNAVAILABLE)


async def collect(answers, statuses):
    async for answer in answers:
        statuses.append(answer.status)


async def insert_batch(client, characters=CONTENT_CHARACTERS, **options):
    vectors = [point(index, characters) for index in range(BATCH)]
    request = messages.InsertVectorsBatchRequest(vectors=vectors)
    return (await client.call("InsertVectorsBatch", request, **options)).ids


async def delete_all(client, ids):
    for call in [client.begin("DeletePoint", point_id) for point_id in ids]:
        await call


def heavy_search():
    queries = [query(index, 1) for index in range(BATCH)]
    repeated = [queries[index % BATCH] for index in range(HEAVY_QUERIES)]
    return messages.SearchPointsBatchRequest(queries=repeated)


def point(index, characters=CONTENT_CHARACTERS):
    content = f"{index}: {'é' * characters}"
    payload = messages.Payload(content_type=messages.Text, content=content)
    return messages.InsertVectorRequest(vector=vector(index), payload=payload)


def query(index, limit):
    """Its nearest point is the one of the same index."""
    vector_field = {"query_vector": vector(index)}
    return messages.SearchRequest(similarity=messages.Euclidean, limit=limit, **vector_field)


def vector(index):
    values = [index + place / DIMENSION for place in range(DIMENSION)]
    return messages.DenseVector(values=values)


def point_id(text):
    return messages.PointID(id=messages.UUID(value=text))


def equal(found, expected):
    assert found == expected, f"{str(found)[:500]!r} is not {str(expected)[:500]!r}"


async def failure(call):
    try:
        await call
    except grpc.RpcError as error:
        return error
    raise AssertionError("the call did not fail")


STEPS = {
    "operations": use_all,
    "batch": use_batch,
    "gzip": send_gzip,
    "deflate": send_deflate,
    "details": read_details,
    "metadata": send_binary_metadata,
    "deadline": pass_deadline,
    "longest": have_longest_deadline,
    "cancel": cancel_upload,
    "health": ask_for_health,
    "reflection": list_services,
    "parallel": call_in_parallel,
    "stop": outlive_server,
}


async def answer_steps(client):
    while step := (await asyncio.to_thread(sys.stdin.readline)).strip():
        try:
            await STEPS[step](client)
            print("ok", flush=True)
        except Exception as error:
            traceback.print_exc()
            print(f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)


async def main():
    if API == "asyncio":
        async with grpc.aio.insecure_channel(ADDRESS, options=OPTIONS) as channel:
            await answer_steps(Client(channel, lambda method: method))
    else:
        with grpc.insecure_channel(ADDRESS, options=OPTIONS) as channel:
            await answer_steps(Client(channel, SyncMethod))


asyncio.run(main())
