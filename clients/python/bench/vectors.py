"""What it takes to bring vectors from numpy into messages and back, in microseconds a vector: as
the client does it, with a field of bytes, and through protobuf's own list of floats.

Usage: python clients/python/bench/vectors.py [DIMENSION ...]    (128 384 1536)

It needs the client, and no service. All ways give the same bytes and the same vectors, which is
checked before anything is timed.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf import __version__ as protobuf_version
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation

from vectord_client._generated import points_pb2 as wire

VECTORS = 1_000
ROUNDS = 15
ID = "00000000-0000-4000-8000-00000000000a"


def list_messages() -> tuple[Any, Any]:
    """UpsertRequest and ScrollStreamResponse with vectors as they are in the published file."""
    file = descriptor_pb2.FileDescriptorProto.FromString(wire.DESCRIPTOR.serialized_pb)
    text = file.SerializeToString().replace(b"vectord_client", b"vectord_lists_")
    file = descriptor_pb2.FileDescriptorProto.FromString(text)
    for message in file.message_type:
        for field in message.field:
            if field.name == "vector" and field.type == field.TYPE_BYTES:
                field.type, field.label = field.TYPE_FLOAT, field.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("UpsertRequest", "ScrollStreamResponse")
    found = [pool.FindMessageTypeByName(f"vectord_lists_.{name}") for name in names]
    request, response = map(message_factory.GetMessageClass, found)
    return request, response


def as_bytes(vectors: Any) -> bytes:
    request = wire.UpsertRequest()
    for row in vectors:
        request.points.add(id=ID, vector=row.tobytes())
    return request.SerializeToString()


def as_lists(request: Any, convert: Callable[[Any], Any]) -> Callable[[Any], bytes]:
    def encode(vectors: Any) -> bytes:
        message = request()
        for row in vectors:
            message.points.add(id=ID).vector.extend(convert(row))
        return message.SerializeToString()

    return encode


def from_bytes(answer: bytes) -> list[Any]:
    message = wire.ScrollStreamResponse.FromString(answer)
    return [np.frombuffer(point.vector, dtype="<f4") for point in message.points]


def from_lists(response: Any) -> Callable[[bytes], list[Any]]:
    def decode(answer: bytes) -> list[Any]:
        message = response.FromString(answer)
        return [np.array(point.vector, dtype="<f4") for point in message.points]

    return decode


def medians(ways: list[Callable[[], object]]) -> list[float]:
    """Microseconds a vector of each way; they take turns."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, times in zip(ways, taken, strict=True):
            start = time.process_time()
            way()
            times.append((time.process_time() - start) / VECTORS * 1e6)
    return [statistics.median(times) for times in taken]


def main() -> None:
    request, response = list_messages()
    extend, extend_list = as_lists(request, lambda row: row), as_lists(request, np.ndarray.tolist)
    decode_lists = from_lists(response)
    print(
        f"numpy {np.__version__}, protobuf {protobuf_version} ({api_implementation.Type()}), "
        f"processor time in us a vector, median of {ROUNDS} rounds of {VECTORS}\n"
    )
    head = ["values", "to bytes", "extend(array)", "extend(list)", "from bytes", "from list"]
    print(" | ".join(f"{it:>13}" for it in head))
    for dimension in map(int, sys.argv[1:] or ("128", "384", "1536")):
        vectors = np.random.default_rng(1).random((VECTORS, dimension), dtype=np.float32)
        sent = as_bytes(vectors)
        assert sent == extend(vectors) == extend_list(vectors)
        # A NewPoint and a Point have their ids and vectors under the same numbers.
        assert np.array_equal(np.stack(from_bytes(sent)), vectors)
        assert np.array_equal(np.stack(decode_lists(sent)), vectors)
        times = medians(
            [
                lambda vectors=vectors: as_bytes(vectors),
                lambda vectors=vectors: extend(vectors),
                lambda vectors=vectors: extend_list(vectors),
                lambda sent=sent: from_bytes(sent),
                lambda sent=sent: decode_lists(sent),
            ]
        )
        print(" | ".join([f"{dimension:>13}", *(f"{it:>13.2f}" for it in times)]))


main()
