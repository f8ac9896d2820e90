"""Loads of many points: cut into batches by their bytes, and counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..errors import invalid
from ..models import BulkProgress, Limits, NewPoint, Upserted
from .operations import encode_new_point, flag_of, items_of

DEFAULT_BATCH_BYTES = 1 << 20

# Points of a batch at most. A service whose graphs lag behind takes as many points as they link,
# and batches of more would wait for longer than a call may take.
MOST_POINTS = 4_096
DEFAULT_WINDOW = 4
DEFAULT_PATIENCE = 60.0

# The field `points` of an UpsertRequest, and `if_absent` with the value true.
_POINT_TAG = b"\x0a"
_IF_ABSENT = b"\x10\x01"

# What a request has besides its points: `if_absent`, and what gRPC puts before it.
_SPARE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Batch:
    """An UpsertRequest with consecutive points of a load. Each id is in it once."""

    request: bytes
    first: int
    """The index of its first point in the load."""
    ids: set[str]

    @property
    def count(self) -> int:
        return len(self.ids)

    def shares_a_point(self, others: Iterable[Batch]) -> bool:
        """Whether a point of it is in another batch, too: then that one has to be stored first, so
        that of points with one id the last one stays."""
        return any(not self.ids.isdisjoint(other.ids) for other in others)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"points {self.first} to {self.first + self.count - 1} of the load"


class Batcher:
    """Fills batches up to a number of bytes and of points. A message of protobuf may be written in
    pieces: each point is encoded once, and a batch is the pieces one after the other."""

    def __init__(self, most_bytes: int, most_points: int, if_absent: bool) -> None:
        self._most_bytes = most_bytes
        self._most_points = most_points
        self._tail = _IF_ABSENT if if_absent else b""
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._first = 0
        self._ids: set[str] = set()

    def add(self, point: NewPoint) -> Batch | None:
        """Takes a point; answers a batch where the point has no place in it any more."""
        count = len(self._ids)
        id_, encoded = encode_new_point(point, f"point {self._first + count} of the load")
        head = _POINT_TAG + _varint(len(encoded))
        size = len(head) + len(encoded)
        is_full = self._bytes + size > self._most_bytes or count == self._most_points
        full = self.rest() if is_full or id_ in self._ids else None
        self._pieces += (head, encoded)
        self._bytes += size
        self._ids.add(id_)
        return full

    def rest(self) -> Batch | None:
        """What has not filled a batch; None if there is nothing."""
        if not self._ids:
            return None
        batch = Batch(b"".join((*self._pieces, self._tail)), self._first, self._ids)
        self._first += batch.count
        self._pieces, self._bytes, self._ids = [], 0, set()
        return batch


def batches(points: Iterable[NewPoint], into: Batcher) -> Iterator[Batch]:
    """All points of a load in batches."""
    for point in items_of(points, "points"):
        full = into.add(point)
        if full is not None:
            yield full
    rest = into.rest()
    if rest is not None:
        yield rest


class Tally:
    """Counts what has been acknowledged of a load."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._points = self._bytes = self._batches = 0
        self._stored = self._replaced = self._kept = 0
        self.repeats = 0

    def add(self, batch: Batch, upserted: Upserted) -> BulkProgress:
        """Counts a batch, and answers how far the load is."""
        self._points += batch.count
        self._bytes += len(batch.request)
        self._batches += 1
        self._stored += upserted.stored
        self._replaced += upserted.replaced
        self._kept += upserted.kept
        return self.progress()

    def progress(self) -> BulkProgress:
        """How far the load is."""
        return BulkProgress(
            points=self._points,
            bytes=self._bytes,
            batches=self._batches,
            repeats=self.repeats,
            stored=self._stored,
            replaced=self._replaced,
            kept=self._kept,
            seconds=time.monotonic() - self._start,
        )


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How a load is made."""

    if_absent: bool
    batch_bytes: int
    window: int
    """Batches under way at a time."""
    patience: float
    """Seconds for which a batch is sent again after it has failed."""
    on_progress: Callable[[BulkProgress], None] | None

    def __post_init__(self) -> None:
        flag_of(self.if_absent, "if_absent")
        if self.batch_bytes < 1:
            raise invalid(f"batch_bytes is {self.batch_bytes}, expected at least 1")
        if self.window < 1:
            raise invalid(f"window is {self.window}, expected at least 1")
        if not self.patience >= 0:
            raise invalid(f"patience is {self.patience}, expected 0 seconds or more")

    def batcher(self, limits: Limits) -> Batcher:
        """One for batches that the service takes."""
        most_bytes = min(self.batch_bytes, limits.max_request_bytes - _SPARE_BYTES)
        return Batcher(most_bytes, min(limits.max_batch, MOST_POINTS), self.if_absent)


def _varint(value: int) -> bytes:
    """A number as protobuf writes lengths: 7 bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
