"""What is asked of the service, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Literal, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ._core.arrays import floats_of

Vector: TypeAlias = npt.NDArray[np.float32]
"""A vector as it is answered: shape (dimension,), float32, read-only."""

VectorLike: TypeAlias = "npt.NDArray[np.float32] | npt.ArrayLike"
"""A vector as it is given: shape (dimension,). Real numbers and booleans that are not float32 are
converted; what else there is (complex numbers, text, objects) is refused."""

PointId: TypeAlias = str | UUID
"""A UUID, as text in the form 8-4-4-4-12, in either case, and not nil."""

Scalar: TypeAlias = str | bool | int | float

MetadataValue: TypeAlias = Scalar | Sequence[str] | Sequence[bool] | Sequence[int | float] | None

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""A flat object: strings, booleans, numbers, None, and lists of one kind of the first three. Whole
numbers lie within 2^53, others are finite, no key begins with `$`, and as JSON it has at most
64 KiB."""

FilterOperators: TypeAlias = Mapping[str, Scalar | Sequence[Scalar]]
"""What a key has to be: `{"$gte": 2020, "$lt": 2024}`. All operators have to hold."""

Filter: TypeAlias = "Mapping[str, Scalar | FilterOperators | Filter | Sequence[Filter]]"
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


class ContentType(IntEnum):
    """What the content of a point is. Its number may be given for a member, too."""

    TEXT = 1
    IMAGE = 2


class Order(IntEnum):
    """The order of points by the time when they were written. Its number may be given for a member,
    too."""

    OLDEST = 1
    """The oldest first. A point that lives throughout appears at least once, and again if it is
    replaced meanwhile."""
    NEWEST = 2
    """The newest first. Points that are written meanwhile may be left out."""


class GraphState(IntEnum):
    """How far the graph of a similarity is. Searches scan what it does not hold."""

    BUILDING = 1
    READY = 2
    FAILED = 3
    """Given up; the service begins it anew by itself."""


class FilterIndexState(IntEnum):
    """Whether the filter index of a field has all points. Filters read the points that it lacks."""

    BUILDING = 1
    READY = 2
    SCANNED = 3
    """There is no room for it (`max_filter_index_bytes`): filters by the field read the points."""


class Keep(Enum):
    """What stands in an update for a field that stays as it is."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True, eq=False)
class NewPoint:
    """A point that is to be stored."""

    vector: VectorLike
    """Shape (dimension,)."""
    id: PointId | None = None
    """A point with this id is replaced whole. Without one the client makes a UUID of version 4."""
    content: str = ""
    content_type: ContentType = ContentType.TEXT
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True)
class PointUpdate:
    """A new payload of a point: what is not given stays as it is, and so does the vector."""

    id: PointId
    content: str | Keep = KEEP
    """Text; the empty one clears it. None is refused."""
    content_type: ContentType | Keep = KEEP
    metadata: Metadata | Keep | None = KEEP
    """Replaces all metadata of the point; None clears them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Query:
    """A query for the nearest points of a vector, or of a point that is stored."""

    similarity: Similarity
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
    """None for the distance alone; an empty list for ids alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point as it is stored. What was not asked for is None."""

    id: str
    """A UUID in lower case."""
    vector: Vector | None = None
    """Shape (dimension,), float32, read-only."""
    content: str | None = None
    content_type: ContentType | None = None
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
    replaced: int
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
    next: str | None
    """What the next page comes after; None if this is the last one."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of a delete."""

    deleted: int
    missing: list[str]
    """The ids of points that are not there."""


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of an update."""

    updated: int
    missing: list[str]
    """The ids of points that are not there."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a similarity."""

    similarity: Similarity
    state: GraphState
    slots: int
    """Points that it is to hold, deleted ones included until their slots are free."""
    linked: int
    """Those that it holds so far."""


@dataclass(frozen=True, slots=True)
class FilterIndex:
    """The part of the filter index for one field."""

    field: str
    """A key of metadata, or `$content_type`."""
    state: FilterIndexState
    bytes: int
    """Memory that it takes; of a field that is scanned, that it would take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings of the service that bound requests and memory."""

    max_request_bytes: int
    max_batch: int
    max_content_bytes: int
    max_search_work: int
    max_inflight_bytes: int
    max_filter_index_bytes: int


@dataclass(frozen=True, slots=True)
class Info:
    """What the service is, holds and bounds."""

    version: str
    dimension: int
    """Values of each vector."""
    points: int
    bytes: int | None
    """Space that the data folder takes on its disk; None where the system does not tell."""
    graphs: list[Graph]
    filter_index: list[FilterIndex]
    """A part for each field that was filtered by, in the order of the fields."""
    limits: Limits


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How far a load is. Batches are answered in their order: the first `points` are durable."""

    points: int
    """Points that the service has acknowledged."""
    bytes: int
    """Bytes of their requests."""
    batches: int
    repeats: int
    """How often a batch was sent again."""
    stored: int
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
        ValueError: The array has another number of axes or other values, or a list another length.
    """
    rows = floats_of(vectors, "vectors")
    if rows.ndim != 2:
        raise ValueError(f"vectors has the shape {rows.shape}, expected (points, dimension)")
    for name, given in (("ids", ids), ("contents", contents), ("metadata", metadata)):
        if given is not None and len(given) != len(rows):
            raise ValueError(
                f"{name} has {len(given)} items, expected {len(rows)}, one for each row"
            )
    return (
        NewPoint(
            vector=row,
            id=None if ids is None else ids[at],
            content="" if contents is None else contents[at],
            metadata=None if metadata is None else metadata[at],
        )
        for at, row in enumerate(rows)
    )
