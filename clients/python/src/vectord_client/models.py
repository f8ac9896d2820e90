"""What is asked of the service, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Literal, TypeAlias, Union
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ._core.arrays import floats_of
from .errors import invalid

Vector: TypeAlias = npt.NDArray[np.float32]
"""A vector as it is answered: shape (dimension,), float32, read-only."""

VectorLike: TypeAlias = npt.NDArray[np.float32] | npt.ArrayLike
"""A vector as it is given: shape (dimension,). Real numbers and booleans that are not float32 are
converted; what else there is (complex numbers, text, objects) is refused."""

PointId: TypeAlias = str | UUID
"""A UUID, as text in the form 8-4-4-4-12, in either case, and not nil."""

Scalar: TypeAlias = str | bool | int | float

MetadataValue: TypeAlias = Scalar | Sequence[str] | Sequence[bool] | Sequence[int | float] | None
"""What a key of metadata may have. A list has items of one kind."""

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""A flat object: strings, booleans, numbers, None, and lists of one kind of the first three. Whole
numbers lie within 2^53, others are finite, no key begins with `$`, and as JSON it has at most
64 KiB."""

FilterOperators: TypeAlias = Mapping[str, Scalar | Sequence[Scalar]]
"""What a key has to be: `{"$gte": 2020, "$lt": 2024}`. All operators have to hold."""

Filter: TypeAlias = Mapping[str, Union[Scalar, FilterOperators, "Filter", Sequence["Filter"]]]
"""Which points pass: those for which every member holds. A key of metadata, `$id` and
`$content_type` have a value or operators (`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`,
`$nin`, `$exists`); `$and` and `$or` have a list of filters, and `$not` has one. `{}` passes every
point. docs/FILTERS.md of the service has every case."""

Part: TypeAlias = Literal["distance", "vector", "content", "content_type", "metadata"]
"""What an answer may hold of a point besides its id."""


class Similarity(IntEnum):
    """How the distance of two vectors is measured. Its number may be given for a member, too."""

    EUCLIDEAN = 1
    """The square root of the sum of squared differences."""
    MANHATTAN = 2
    """The sum of absolute differences."""
    HAMMING = 3
    """The number of positions at which values differ."""
    COSINE = 4
    """1 - cos."""


SimilarityLike: TypeAlias = Similarity | Literal["Euclidean", "Manhattan", "Hamming", "Cosine"]
"""A similarity, or its name as over HTTP."""


class ContentType(IntEnum):
    """What the content of a point is. Its number may be given for a member, too."""

    TEXT = 1
    """A text."""
    IMAGE = 2
    """An image, as a reference or as data."""


ContentTypeLike: TypeAlias = ContentType | Literal["Text", "Image"]
"""A content type, or its name as over HTTP."""


class Order(IntEnum):
    """The order of points by the time when they were written. Its number may be given for a member,
    too."""

    OLDEST = 1
    """The oldest first. A point that lives throughout appears at least once, and again if it is
    replaced meanwhile."""
    NEWEST = 2
    """The newest first. Points that are written meanwhile may be left out."""


OrderLike: TypeAlias = Order | Literal["oldest", "newest"]
"""An order, or its name as over HTTP."""


class GraphState(IntEnum):
    """How far the graph of a similarity is. Searches scan what it does not hold."""

    BUILDING = 1
    """It does not hold all points yet."""
    READY = 2
    """It holds all points."""
    FAILED = 3
    """Given up; the service begins it anew by itself."""


class FilterIndexState(IntEnum):
    """Whether the filter index of a field has all points. Filters read the points that it lacks."""

    BUILDING = 1
    """It does not have all points yet."""
    READY = 2
    """It has all points."""
    SCANNED = 3
    """There is no room for it (`max_filter_index_bytes`): filters by the field read the points."""


class Keep(Enum):
    """What stands in an update for a field that stays as it is."""

    KEEP = "keep"


KEEP = Keep.KEEP
"""What stands in a `PointUpdate` for a part that stays as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class NewPoint:
    """A point that is to be stored."""

    vector: VectorLike
    """Shape (dimension,)."""
    id: PointId | None = None
    """A point with this id is replaced whole. Without one the client makes a UUID of version 4."""
    content: str = ""
    """Any Unicode text."""
    content_type: ContentTypeLike = ContentType.TEXT
    """What the content is."""
    metadata: Metadata | None = None
    """What filters choose points by."""


@dataclass(frozen=True, slots=True)
class PointUpdate:
    """A new payload of a point: what is not given stays as it is, and so does the vector."""

    id: PointId
    """That of the point, which stays."""
    content: str | Keep = KEEP
    """Text; the empty one clears it. None is refused."""
    content_type: ContentTypeLike | Keep = KEEP
    """What the content is from now on."""
    metadata: Metadata | Keep | None = KEEP
    """Replaces all metadata of the point; None clears them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Query:
    """A query for the nearest points of a vector, or of a point that is stored."""

    similarity: SimilarityLike
    """How the distance is measured."""
    vector: VectorLike | None = None
    """Shape (dimension,). Either this or `like` is given."""
    like: PointId | None = None
    """The id of a point whose vector is taken; the point itself is left out."""
    limit: int = 10
    """The greatest number of points, at least 1."""
    ef: int | None = None
    """The search breadth: more finds more of the nearest points and takes longer. None for the
    default of the service."""
    exact: bool = False
    """Whether all points are compared."""
    max_distance: float | None = None
    """Points that are farther away are left out; in the unit of the similarity."""
    filter: Filter | None = None
    """Points that do not pass are left out."""
    include: Iterable[Part] | None = None
    """None for distance, content and metadata; an empty list for ids alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point as it is stored. What was not asked for is None."""

    id: str
    """A UUID in lower case."""
    vector: Vector | None = None
    """Shape (dimension,), float32, read-only."""
    content: str | None = None
    """As it was stored; empty for a point that has none."""
    content_type: ContentType | None = None
    """What the content is."""
    metadata: dict[str, MetadataValue] | None = None
    """None where the point has none, too."""
    distance: float | None = None
    """In a search: the distance to the query, in the unit of its similarity."""


@dataclass(frozen=True, slots=True)
class Upserted:
    """What became of the points of an upsert: the three numbers add up to all of them.

    Where the client had to repeat the request, since the connection broke before the answer came,
    points that it stored itself may count as replaced, or as kept.
    """

    ids: list[str]
    """The ids of all points, in the order of the request."""
    stored: int
    """Points that are new."""
    replaced: int
    """Points whose ids were there."""
    kept: int
    """Points that were not stored, since their ids were there."""


@dataclass(frozen=True, slots=True)
class Got:
    """Points that were asked for by their ids."""

    points: list[Point]
    """Those that are there, in the order of the request."""
    missing: list[str]
    """The ids of those that are not."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of all points."""

    points: list[Point]
    """In the order that was asked for."""
    next: str | None
    """What the next page comes after; None if this is the last one."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of a delete."""

    deleted: int
    """The number of points that were there."""
    missing: list[str]
    """The ids of points that are not there."""


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of an update."""

    updated: int
    """The number of points that were there."""
    missing: list[str]
    """The ids of points that are not there."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a similarity."""

    similarity: Similarity
    """That of the searches that walk it."""
    state: GraphState
    """How far it is."""
    slots: int
    """Points that it is to hold, deleted ones included until their slots are free."""
    linked: int
    """Those that it holds so far."""
    bytes: int
    """Memory that it takes, about."""
    idle_seconds: int
    """Since the last search that could use it, or since the start of the service."""


@dataclass(frozen=True, slots=True)
class FilterIndex:
    """The part of the filter index for one field."""

    field: str
    """A key of metadata, or `$content_type`."""
    state: FilterIndexState
    """Whether it has all points."""
    bytes: int
    """Memory that it takes; of a field that is scanned, that it would take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings of the service that bound requests and memory."""

    max_request_bytes: int
    """Bytes of one request (MAX_REQUEST_BYTES)."""
    max_batch: int
    """Items of one batch (MAX_BATCH)."""
    max_content_bytes: int
    """UTF-8 bytes of one content (MAX_CONTENT_BYTES)."""
    max_search_work: int
    """Candidates of one `search_all`: the sum of max(ef, min(limit, points)) (MAX_SEARCH_WORK)."""
    max_inflight_bytes: int
    """Bytes of all requests that are being answered, and of their answers (MAX_INFLIGHT_BYTES)."""
    max_filter_index_bytes: int
    """Bytes of memory that the filter index takes (MAX_FILTER_INDEX_BYTES)."""


@dataclass(frozen=True, slots=True)
class Info:
    """What the service is, holds and bounds."""

    version: str
    """That of vectord, such as 1.2.3."""
    dimension: int
    """Values of each vector."""
    points: int
    """How many there are."""
    bytes: int | None
    """Space that the data folder takes on its disk; None where the system does not tell."""
    graphs: list[Graph]
    """One for each similarity that was searched under lately, or is kept warm."""
    filter_index: list[FilterIndex]
    """A part for each field that was filtered by, in the order of the fields."""
    limits: Limits
    """What requests may take."""


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How far a load is. Batches are answered in their order: the first `points` are durable."""

    points: int
    """Points that the service has acknowledged."""
    bytes: int
    """Bytes of their requests."""
    batches: int
    """Requests that the service has acknowledged."""
    repeats: int
    """How often a batch was sent again."""
    stored: int
    """Points that are new."""
    replaced: int
    """Points whose ids were there; those of a repeated batch may be of this load itself."""
    kept: int
    """Points that were not stored, since their ids were there."""
    seconds: float
    """Since the load began."""


def points_of(
    vectors: npt.NDArray[np.float32] | npt.ArrayLike,
    *,
    ids: Sequence[PointId] | None = None,
    contents: Sequence[str] | None = None,
    metadata: Sequence[Metadata | None] | None = None,
) -> Iterator[NewPoint]:
    """Points from an array of many vectors, one at a time.

    Args:
        vectors: Shape (points, dimension); real numbers or booleans.
        ids: One for each row.
        contents: One for each row.
        metadata: One for each row.

    Raises:
        InvalidArgumentError: The array has another number of axes or other values, or a list
            another length.
    """
    rows = floats_of(vectors, "vectors")
    if rows.ndim != 2:
        raise invalid(f"vectors has the shape {rows.shape}, expected (points, dimension)")
    for name, given in (("ids", ids), ("contents", contents), ("metadata", metadata)):
        if given is not None and len(given) != len(rows):
            raise invalid(f"{name} has {len(given)} items, expected {len(rows)}, one for each row")
    return (
        NewPoint(
            vector=row,
            id=None if ids is None else ids[at],
            content="" if contents is None else contents[at],
            metadata=None if metadata is None else metadata[at],
        )
        for at, row in enumerate(rows)
    )
