"""The operations of the service, free of how their calls are made: each is a request in bytes, and
a function that reads its answer.

The messages in `_generated` have vectors as bytes, which are the floats of a vector as they are on
the wire. So an array becomes bytes, and bytes an array, in one copy: protobuf's own lists of floats
would be filled and read value by value (see bench/vectors.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args
from uuid import UUID, uuid4

import numpy as np

from .._generated import points_pb2 as wire
from ..models import (
    KEEP,
    ContentType,
    Deleted,
    Got,
    Graph,
    GraphState,
    Info,
    Limits,
    Metadata,
    NewPoint,
    Order,
    Page,
    Part,
    Point,
    PointId,
    PointUpdate,
    Query,
    Similarity,
    Updated,
    Upserted,
    Vector,
    VectorLike,
)
from .retries import Repeat

Answer = TypeVar("Answer")
Filled = TypeVar("Filled")

UPSERT = "Upsert"

_FLOATS = np.dtype("<f4")
_PARTS = get_args(Part)


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One call of a unary method."""

    method: str
    request: bytes
    read: Callable[[bytes], Answer]
    repeat: Repeat = Repeat.ALWAYS


def upsert(points: Iterable[NewPoint], if_absent: bool) -> Call[Upserted]:
    request = wire.UpsertRequest(if_absent=if_absent)
    for index, point in enumerate(points):
        _fill(request.points.add, _new_point(point, f"points[{index}]"), f"points[{index}]")
    return Call(UPSERT, request.SerializeToString(), read_upserted)


def read_upserted(answer: bytes) -> Upserted:
    message = wire.UpsertResponse.FromString(answer)
    return Upserted(list(message.ids), message.stored, message.replaced, message.kept)


def encode_new_point(point: NewPoint, name: str) -> tuple[str, bytes]:
    """One point of an upsert: its id in lower case, and what stands in a request behind its
    length."""
    message = _fill(wire.NewPoint, _new_point(point, name), name)
    return message.id.lower(), message.SerializeToString()


def get(ids: Iterable[PointId], include: Iterable[Part] | None) -> Call[Got]:
    request = wire.GetRequest(ids=_ids(ids), include=_include(include))

    def read(answer: bytes) -> Got:
        message = wire.GetResponse.FromString(answer)
        return Got([_point(point) for point in message.points], list(message.missing))

    return Call("Get", request.SerializeToString(), read)


def search(query: Query) -> Call[list[Point]]:
    request = wire.SearchRequest()
    _add_query(request, query, "")
    return Call("Search", request.SerializeToString(), lambda answer: _read_found(answer)[0])


def search_all(queries: Iterable[Query]) -> Call[list[list[Point]]]:
    request = wire.SearchRequest()
    for index, query in enumerate(queries):
        _add_query(request, query, f"queries[{index}].")
    return Call("Search", request.SerializeToString(), _read_found)


def _read_found(answer: bytes) -> list[list[Point]]:
    message = wire.SearchResponse.FromString(answer)
    return [[_point(point) for point in found.points] for found in message.results]


def scroll_page(
    limit: int, after: str | None, order: Order, include: Iterable[Part] | None
) -> Call[Page]:
    asked = {"after": after or "", "order": int(order), "include": _include(include)}
    request = _fill(wire.ScrollRequest, {"limit": limit, **asked}, "limit and after")

    def read(answer: bytes) -> Page:
        message = wire.ScrollResponse.FromString(answer)
        return Page([_point(point) for point in message.points], message.next or None)

    return Call("Scroll", request.SerializeToString(), read)


@dataclass(frozen=True, slots=True)
class Scroll:
    """A scroll through all points, which a new call can go on with behind any message."""

    METHOD: ClassVar[str] = "ScrollStream"

    order: Order
    include: wire.Include | None

    def request(self, after: str | None) -> bytes:
        fields = {"after": after or "", "order": int(self.order), "include": self.include}
        return _fill(wire.ScrollStreamRequest, fields, "after").SerializeToString()

    def read(self, answer: bytes) -> Page:
        message = wire.ScrollStreamResponse.FromString(answer)
        return Page([_point(point) for point in message.points], message.next or None)


def scroll(order: Order, include: Iterable[Part] | None) -> Scroll:
    return Scroll(order, _include(include))


def count() -> Call[int]:
    def read(answer: bytes) -> int:
        return wire.CountResponse.FromString(answer).count

    return Call("Count", wire.CountRequest().SerializeToString(), read)


def delete(ids: Iterable[PointId]) -> Call[Deleted]:
    request = wire.DeleteRequest(ids=_ids(ids))
    return Call("Delete", request.SerializeToString(), _read_deleted, Repeat.REFUSED)


def delete_all(confirm: int) -> Call[Deleted]:
    request = _fill(wire.DeleteRequest, {"all": True, "confirm": confirm}, "confirm")
    return Call("Delete", request.SerializeToString(), _read_deleted, Repeat.REFUSED)


def _read_deleted(answer: bytes) -> Deleted:
    message = wire.DeleteResponse.FromString(answer)
    return Deleted(message.deleted, list(message.missing))


def update(points: Iterable[PointUpdate]) -> Call[Updated]:
    request = wire.UpdateRequest()
    for index, point in enumerate(points):
        name = f"points[{index}]"
        fields: dict[str, Any] = {"id": _id(point.id, f"{name}.id")}
        if point.content is not KEEP:
            fields["content"] = point.content
        if point.content_type is not KEEP:
            fields["content_type"] = int(point.content_type)
        if point.metadata is not KEEP:
            fields["metadata"] = _metadata(point.metadata, name)
        _fill(request.points.add, fields, name)

    def read(answer: bytes) -> Updated:
        updated = wire.UpdateResponse.FromString(answer)
        return Updated(updated.updated, list(updated.missing))

    return Call("Update", request.SerializeToString(), read)


def info() -> Call[Info]:
    def read(answer: bytes) -> Info:
        message = wire.InfoResponse.FromString(answer)
        limits = message.limits
        return Info(
            version=message.version,
            dimension=message.dimension,
            points=message.points,
            bytes=message.bytes if message.HasField("bytes") else None,
            graphs=[
                Graph(Similarity(it.similarity), GraphState(it.state), it.slots, it.linked)
                for it in message.graphs
            ],
            limits=Limits(
                limits.max_request_bytes,
                limits.max_batch,
                limits.max_content_bytes,
                limits.max_search_work,
                limits.max_inflight_bytes,
            ),
        )

    return Call("Info", wire.InfoRequest().SerializeToString(), read)


def _fill(make: Callable[..., Filled], fields: Mapping[str, Any], name: str) -> Filled:
    """A message with these fields; `name` is what a field is part of that does not fit in."""
    try:
        return make(**fields)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be sent: {error}") from error


def _new_point(point: NewPoint, name: str) -> dict[str, Any]:
    return {
        # A point that the client names can be sent twice and is stored once.
        "id": str(uuid4()) if point.id is None else _id(point.id, f"{name}.id"),
        "vector": _floats(point.vector, f"{name}.vector"),
        "content": point.content,
        "content_type": int(point.content_type),
        "metadata": _metadata(point.metadata, name),
    }


def _add_query(request: wire.SearchRequest, query: Query, where: str) -> None:
    if (query.vector is None) == (query.like is None):
        raise ValueError(f"{where}vector and {where}like: expected one of them")
    fields = {
        "vector": b"" if query.vector is None else _floats(query.vector, f"{where}vector"),
        "like": "" if query.like is None else _id(query.like, f"{where}like"),
        "similarity": int(query.similarity),
        "limit": query.limit,
        "ef": query.ef or 0,
        "exact": query.exact,
        "max_distance": query.max_distance,
        "include": _include(query.include, where),
    }
    _fill(request.queries.add, fields, where.removesuffix(".") or "the query")


def _point(message: wire.Point) -> Point:
    vector: Vector | None = None
    if message.vector:
        vector = np.frombuffer(message.vector, dtype=_FLOATS)
    has = message.HasField
    return Point(
        id=message.id,
        vector=vector,
        content=message.content if has("content") else None,
        content_type=ContentType(message.content_type) if has("content_type") else None,
        metadata=json.loads(message.metadata) if has("metadata") else None,
        distance=message.distance if has("distance") else None,
    )


def _floats(vector: VectorLike, name: str) -> bytes:
    """The little-endian floats of a vector."""
    try:
        values = np.asarray(vector, dtype=_FLOATS)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is no array of numbers: {error}") from error
    if values.ndim != 1:
        raise ValueError(f"{name} has the shape {values.shape}, expected (dimension,)")
    return values.tobytes()


def _ids(ids: Iterable[PointId]) -> list[str]:
    if isinstance(ids, str):
        raise ValueError(f'ids is the text "{ids}", expected a list of ids')
    return [_id(it, f"ids[{index}]") for index, it in enumerate(ids)]


def _id(given: PointId, name: str) -> str:
    if not isinstance(given, str | UUID):
        raise ValueError(f"{name} is {given!r}, expected a UUID")
    # To the service an empty text is no id, for which it would make one.
    if given == "":
        raise ValueError(f"{name} is empty, expected a UUID")
    return str(given)


def _include(parts: Iterable[Part] | None, where: str = "") -> wire.Include | None:
    if parts is None:
        return None
    if isinstance(parts, str):
        raise ValueError(f'{where}include is the text "{parts}", expected a list of parts')
    asked = list(parts)
    for index, part in enumerate(asked):
        if part not in _PARTS:
            raise ValueError(
                f"{where}include[{index}] is {part!r}, expected one of {', '.join(_PARTS)}"
            )
    return wire.Include(**dict.fromkeys(asked, True))


def _metadata(metadata: Metadata | None, where: str) -> str:
    if metadata is None:
        return ""
    if not isinstance(metadata, Mapping):
        raise ValueError(f"{where}.metadata is {metadata!r}, expected a mapping")
    try:
        return json.dumps(
            dict(metadata),
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            default=_without_numpy,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}.metadata cannot be written as JSON: {error}") from error


def _without_numpy(value: object) -> object:
    """The values of numpy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}")
