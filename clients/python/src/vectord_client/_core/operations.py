"""The operations of the service, free of how their calls are made: each is a request in bytes, and
a function that reads its answer.

The messages in `_generated` have vectors as bytes, which are the floats of a vector as they are on
the wire. So an array becomes bytes, and bytes an array, in one copy: protobuf's own lists of floats
would be filled and read value by value (see bench/vectors.py).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args
from uuid import UUID, uuid4

import numpy as np

from .._generated import points_pb2 as wire
from ..errors import InvalidArgumentError, TooLargeError, VectordError, invalid
from ..models import (
    KEEP,
    ContentType,
    ContentTypeLike,
    Deleted,
    Filter,
    FilterIndex,
    FilterIndexState,
    Got,
    Graph,
    GraphState,
    Info,
    Limits,
    Metadata,
    NewPoint,
    Order,
    OrderLike,
    Page,
    Part,
    Point,
    PointId,
    PointUpdate,
    Query,
    Similarity,
    SimilarityLike,
    Updated,
    Upserted,
    Vector,
    VectorLike,
)
from .arrays import FLOATS, floats_of
from .filters import filter_of
from .retries import Repeat
from .values import instead_of, is_unicode

Answer = TypeVar("Answer")
Filled = TypeVar("Filled")
Item = TypeVar("Item")

UPSERT = "Upsert"

_PARTS = get_args(Part)

# What a search answers besides ids unless it is told otherwise.
_OF_A_SEARCH: tuple[Part, ...] = ("distance", "content", "metadata")


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One call of a unary method."""

    method: str
    request: bytes
    read: Callable[[bytes], Answer]
    repeat: Repeat = Repeat.ALWAYS
    explain: Callable[[VectordError], VectordError] = lambda error: error
    """What callers are told of an error, in their words."""


def upsert(points: Iterable[NewPoint], if_absent: bool) -> Call[Upserted]:
    request = wire.UpsertRequest(if_absent=flag_of(if_absent, "if_absent"))
    for index, point in enumerate(items_of(points, "points")):
        name = f"points[{index}]"
        _fill(request.points.add, _new_point(point, name), f"{name}.")
    return Call(UPSERT, request.SerializeToString(), read_upserted, explain=_with_bulk)


# An upsert of this many points or more asks for the limits of the service first.
_MANY = 10_000

_OR_BULK = "; bulk stores any number of points, in batches"


def are_many(points: object) -> bool:
    """Whether there are so many points that the limits are asked for first."""
    return isinstance(points, Sized) and len(points) >= _MANY


def check_many(points: Iterable[NewPoint], info: Info) -> None:
    """Refuses points that no request can hold, before the time and the memory of encoding them."""
    count = len(cast(Sized, points))
    limits, size = info.limits, count * info.dimension * FLOATS.itemsize
    message = ""
    if count > limits.max_batch:
        message = f"points has {count} items, at most {limits.max_batch} are allowed (MAX_BATCH)"
    elif size > limits.max_request_bytes:
        most = f"a request has at most {limits.max_request_bytes} (MAX_REQUEST_BYTES)"
        message = f"the vectors of points have {size} bytes, {most}"
    if message:
        raise TooLargeError("TOO_LARGE", message + _OR_BULK, is_refusal=True)


def _with_bulk(error: VectordError) -> VectordError:
    if not isinstance(error, TooLargeError):
        return error
    return error.reworded(error.message + _OR_BULK)


def _of_one_query(error: VectordError) -> VectordError:
    """A search is a request with a list of one query, which its caller does not know."""
    return error.reworded(re.sub(r"^queries\[0\](?:\.|: )", "", error.message))


def read_upserted(answer: bytes) -> Upserted:
    message = wire.UpsertResponse.FromString(answer)
    return Upserted(list(message.ids), message.stored, message.replaced, message.kept)


def encode_new_point(point: NewPoint, name: str) -> tuple[str, bytes]:
    """One point of an upsert: its id in lower case, and what stands in a request behind its
    length."""
    message = _fill(wire.NewPoint, _new_point(point, name), f"{name}.")
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

    def read(answer: bytes) -> list[Point]:
        return _read_found(answer)[0]

    return Call("Search", request.SerializeToString(), read, explain=_of_one_query)


def search_all(queries: Iterable[Query]) -> Call[list[list[Point]]]:
    request = wire.SearchRequest()
    for index, query in enumerate(items_of(queries, "queries")):
        _check_type(query, Query, f"queries[{index}]")
        _add_query(request, query, f"queries[{index}].")
    return Call("Search", request.SerializeToString(), _read_found)


def _read_found(answer: bytes) -> list[list[Point]]:
    message = wire.SearchResponse.FromString(answer)
    return [[_point(point) for point in found.points] for found in message.results]


def scroll_page(
    limit: int,
    after: str | None,
    order: OrderLike,
    filter: Filter | None,
    include: Iterable[Part] | None,
) -> Call[Page]:
    fields = {
        "limit": limit,
        "after": _after(after),
        "order": _number(Order, order, "order"),
        "filter": _filter(filter),
        "include": _include(include),
    }
    request = _fill(wire.ScrollRequest, fields)

    def read(answer: bytes) -> Page:
        message = wire.ScrollResponse.FromString(answer)
        return Page([_point(point) for point in message.points], message.next or None)

    return Call("Scroll", request.SerializeToString(), read)


@dataclass(frozen=True, slots=True)
class Scroll:
    """A scroll through all points, which a new call can go on with behind any message."""

    METHOD: ClassVar[str] = "ScrollStream"

    order: int
    filter: wire.Filter | None
    include: wire.Include | None

    def request(self, after: str | None) -> bytes:
        fields = {
            "after": _after(after),
            "order": self.order,
            "filter": self.filter,
            "include": self.include,
        }
        return _fill(wire.ScrollStreamRequest, fields).SerializeToString()

    def read(self, answer: bytes) -> Page:
        message = wire.ScrollStreamResponse.FromString(answer)
        return Page([_point(point) for point in message.points], message.next or None)


def _after(given: str | None) -> str:
    """Where a page begins: to the service an empty text would be the start."""
    if given == "":
        raise invalid("after is empty, expected the `next` of a page")
    return "" if given is None else given


def scroll(order: OrderLike, filter: Filter | None, include: Iterable[Part] | None) -> Scroll:
    return Scroll(_number(Order, order, "order"), _filter(filter), _include(include))


def count(filter: Filter | None) -> Call[int]:
    request = wire.CountRequest(filter=_filter(filter))

    def read(answer: bytes) -> int:
        return wire.CountResponse.FromString(answer).count

    return Call("Count", request.SerializeToString(), read)


def delete(ids: Iterable[PointId]) -> Call[Deleted]:
    request = wire.DeleteRequest(ids=_ids(ids))
    return Call("Delete", request.SerializeToString(), _read_deleted, Repeat.REFUSED)


def delete_matching(filter: Filter) -> Call[Deleted]:
    request = wire.DeleteRequest(filter=filter_of(filter, "filter"))
    return Call("Delete", request.SerializeToString(), _read_deleted, Repeat.REFUSED)


def delete_all(confirm: int) -> Call[Deleted]:
    if confirm is None or isinstance(confirm, bool | np.bool_):
        raise invalid(
            f"confirm is {confirm}, expected the number of points that there are: "
            "client.delete_all(client.count())"
        )
    request = _fill(wire.DeleteRequest, {"all": True, "confirm": confirm})
    return Call("Delete", request.SerializeToString(), _read_deleted, Repeat.REFUSED)


def _read_deleted(answer: bytes) -> Deleted:
    message = wire.DeleteResponse.FromString(answer)
    return Deleted(message.deleted, list(message.missing))


def update(points: Iterable[PointUpdate]) -> Call[Updated]:
    request = wire.UpdateRequest()
    for index, point in enumerate(items_of(points, "points")):
        name = f"points[{index}]"
        _check_type(point, PointUpdate, name)
        fields: dict[str, Any] = {"id": _id(point.id, f"{name}.id")}
        if point.content is not KEEP:
            fields["content"] = _text(point.content, f"{name}.content")
        if point.content_type is not KEEP:
            fields["content_type"] = _content_type(point.content_type, name)
        if point.metadata is not KEEP:
            fields["metadata"] = _metadata(point.metadata, name)
        _fill(request.points.add, fields, f"{name}.")

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
                Graph(
                    Similarity(it.similarity),
                    GraphState(it.state),
                    it.slots,
                    it.linked,
                    it.bytes,
                    it.idle_seconds,
                )
                for it in message.graphs
            ],
            filter_index=[
                FilterIndex(it.field, FilterIndexState(it.state), it.bytes)
                for it in message.filter_index
            ],
            limits=Limits(
                limits.max_request_bytes,
                limits.max_batch,
                limits.max_content_bytes,
                limits.max_search_work,
                limits.max_inflight_bytes,
                limits.max_filter_index_bytes,
            ),
        )

    return Call("Info", wire.InfoRequest().SerializeToString(), read)


def _fill(make: Callable[..., Filled], fields: Mapping[str, Any], where: str = "") -> Filled:
    """Makes a message. An error names the field that cannot be sent, with `where` before it."""
    try:
        return make(**fields)
    except (TypeError, ValueError):
        for name, value in fields.items():
            try:
                make(**{name: value})
            except (TypeError, ValueError) as error:
                raise invalid(f"{where}{name} cannot be sent: {error}") from error
        raise


def _new_point(point: NewPoint, name: str) -> dict[str, Any]:
    _check_type(point, NewPoint, name)
    return {
        # A point that the client names can be sent twice and is stored once.
        "id": str(uuid4()) if point.id is None else _id(point.id, f"{name}.id"),
        "vector": _floats(point.vector, f"{name}.vector"),
        "content": _text(point.content, f"{name}.content"),
        "content_type": _content_type(point.content_type, name),
        "metadata": _metadata(point.metadata, name),
    }


def _add_query(request: wire.SearchRequest, query: Query, where: str) -> None:
    if (query.vector is None) == (query.like is None):
        raise invalid(f"{where}vector and {where}like: expected one of them")
    fields = {
        "vector": b"" if query.vector is None else _floats(query.vector, f"{where}vector"),
        "like": "" if query.like is None else _id(query.like, f"{where}like"),
        "similarity": similarity_of(query.similarity, f"{where}similarity"),
        "limit": query.limit,
        "ef": query.ef or 0,
        "exact": flag_of(query.exact, f"{where}exact"),
        "max_distance": query.max_distance,
        "filter": _filter(query.filter, where),
        "include": _include(_OF_A_SEARCH if query.include is None else query.include, where),
    }
    _fill(request.queries.add, fields, where)


def _point(message: wire.Point) -> Point:
    vector: Vector | None = None
    if message.vector:
        vector = np.frombuffer(message.vector, dtype=FLOATS)
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
    values = floats_of(vector, name)
    if values.ndim != 1:
        raise invalid(f"{name} has the shape {values.shape}, expected (dimension,)")
    return values.tobytes()


def flag_of(given: bool, name: str) -> bool:
    """A flag that is given."""
    if not isinstance(given, bool | np.bool_):
        raise invalid(f"{name} is {given!r}, expected True or False")
    return bool(given)


def _names(like: object) -> tuple[str, ...]:
    """The names in a type such as SimilarityLike, in the order of the members they stand for."""
    _, names = get_args(like)
    return get_args(names)


# The names of the members of each enumeration over HTTP.
_NAMES: dict[type[IntEnum], dict[str, IntEnum]] = {
    kind: dict(zip(_names(like), kind, strict=True))
    for kind, like in (
        (Similarity, SimilarityLike),
        (ContentType, ContentTypeLike),
        (Order, OrderLike),
    )
}


def _number(kind: type[IntEnum], given: int | str, name: str) -> int:
    """The number of a member of an enumeration, which is given itself, by its name over HTTP or by
    its number."""
    names = _NAMES[kind]
    if isinstance(given, str) and given in names:
        return int(names[given])
    is_number = isinstance(given, int | np.integer) and not isinstance(given, bool | Enum)
    if isinstance(given, kind) or (is_number and int(given) in list(kind)):
        return int(given)
    members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
    raise invalid(f"{name} is {given!r}, expected one of {members}, or of {', '.join(names)}")


def similarity_of(given: SimilarityLike, name: str) -> Similarity:
    """The similarity that is given in one way or another."""
    return Similarity(_number(Similarity, given, name))


def _content_type(given: ContentTypeLike, where: str) -> int:
    return _number(ContentType, given, f"{where}.content_type")


def _text(given: str, name: str) -> str:
    if not isinstance(given, str):
        raise invalid(f"{name} is {given!r}, expected a text")
    return given


def items_of(given: Iterable[Item], name: str, what: str = "") -> Iterable[Item]:
    """What is given as a list; `what` its items are called, unless as the list is."""
    what = what or name
    if isinstance(given, str):
        raise invalid(f'{name} is the text "{given}", expected a list of {what}')
    if not isinstance(given, Iterable):
        raise invalid(f"{name} is {_kind_of(given)}, expected a list of {what}")
    return given


def _check_type(given: object, kind: type, name: str) -> None:
    if not isinstance(given, kind):
        raise invalid(f"{name} is {_kind_of(given)}, expected a {kind.__name__}")


def _kind_of(given: object) -> str:
    """What was found, without what it holds, which may be much."""
    return "None" if given is None else f"of the type {type(given).__name__}"


def _ids(ids: Iterable[PointId]) -> list[str]:
    return [_id(it, f"ids[{index}]") for index, it in enumerate(items_of(ids, "ids"))]


def _id(given: PointId, name: str) -> str:
    if not isinstance(given, str | UUID):
        raise invalid(f"{name} is {given!r}, expected a UUID")
    # To the service an empty text is no id, for which it would make one.
    if given == "":
        raise invalid(f"{name} is empty, expected a UUID")
    return str(given)


def _include(parts: Iterable[Part] | None, where: str = "") -> wire.Include | None:
    if parts is None:
        return None
    asked = list(items_of(parts, f"{where}include", "parts"))
    for index, part in enumerate(asked):
        if part not in _PARTS:
            raise invalid(
                f"{where}include[{index}] is {part!r}, expected one of {', '.join(_PARTS)}"
            )
    return wire.Include(**dict.fromkeys(asked, True))


def _filter(given: Filter | None, where: str = "") -> wire.Filter | None:
    return None if given is None else filter_of(given, f"{where}filter")


def _metadata(metadata: Metadata | None, where: str) -> str:
    if metadata is None:
        return ""
    if not isinstance(metadata, Mapping):
        raise invalid(f"{where}.metadata is {_kind_of(metadata)}, expected a mapping")
    for key in metadata:
        if not isinstance(key, str):
            raise invalid(f"{where}.metadata has the key {key!r}, expected a text")
    try:
        text = _json_of(dict(metadata))
        # A half of a surrogate pair is no Unicode.
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _wrong_metadata(metadata, f"{where}.metadata", error) from error
    return text


def _json_of(value: object) -> str:
    """A value as JSON; raises what `json.dumps` does."""
    return json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=_without_numpy,
    )


def _without_numpy(value: object) -> object:
    """The values of numpy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _wrong_metadata(metadata: Metadata, name: str, error: Exception) -> InvalidArgumentError:
    """The error for metadata that cannot be written as JSON in UTF-8; it names the key."""
    for key, value in metadata.items():
        if not is_unicode(key):
            return invalid(f"{name} has the key {key!r}, expected Unicode")
        try:
            _json_of(value).encode()
        except UnicodeEncodeError:
            return invalid(f"{name}.{key} has a half of a surrogate pair, expected Unicode")
        except (TypeError, ValueError, RecursionError):
            return _wrong_value(value, f"{name}.{key}", error)
    return invalid(f"{name} cannot be written as JSON: {error}")


def _wrong_value(value: object, name: str, error: Exception) -> InvalidArgumentError:
    """The error for a value of metadata that cannot be written as JSON, or for the first of its
    items that cannot."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, float) and not math.isfinite(item):
            return invalid(f"{name} is {item}, expected a finite number; None stands for no value")
        instead = instead_of(item)
        if instead:
            return invalid(f"{name} is of the type {type(item).__name__}{instead}")
    return invalid(f"{name} cannot be written as JSON: {error}")
