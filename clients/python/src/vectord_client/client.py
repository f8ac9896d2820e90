"""The synchronous client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType

from ._core import operations
from ._core.bulk import DEFAULT_BATCH_BYTES, DEFAULT_PATIENCE, DEFAULT_WINDOW, LoadSettings
from ._core.settings import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Tls, settings_of
from ._sync.connection import Connection
from ._sync.load import Load
from ._sync.scroll import scroll
from .models import (
    BulkProgress,
    Deleted,
    Filter,
    Got,
    Info,
    NewPoint,
    Order,
    OrderLike,
    Page,
    Part,
    Point,
    PointId,
    PointUpdate,
    Query,
    SimilarityLike,
    Updated,
    Upserted,
    VectorLike,
)


class Client:
    """Stores points in a vectord service and finds the nearest ones, over gRPC.

    A client has one connection, which it opens with its first call and opens anew when it has
    broken. Threads may share it. Every method raises a `VectordError` where the service refuses or
    cannot be reached; what cannot be sent is an `InvalidArgumentError`, which names the field.

    Calls that failed with an error that is `retryable` are repeated, with growing delays: reads,
    and writes of points, which have the same effect twice as once, since each point has an id
    before it is sent. Deletes are repeated only where it is certain that nothing was done.
    """

    def __init__(
        self,
        address: str | Sequence[str],
        *,
        key: str,
        tls: Tls | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
    ) -> None:
        """
        Args:
            address: Host and port of the gRPC interface, such as 127.0.0.1:50051 or
                grpc://127.0.0.1:50051, with grpcs:// by TLS; or those of several nodes of a
                cluster. Calls go to one of them, and to the next where nobody answers there, or the
                node is frozen (noticed within 5 seconds) or not ready.
            key: An API key; methods that write need one with the role readwrite.
            tls: What TLS needs. With None, grpcs:// trusts the authorities that gRPC trusts, and
                other addresses use no TLS.
            timeout: Seconds that a call may take, its repeats included, unless it says otherwise.
                More than 10^9 (31 years), such as math.inf, count as 10^9.
            retries: How often a call is repeated at most; 0 for never.
        """
        self._settings = settings_of(address, key, tls, timeout, retries)
        self._connection = Connection(self._settings)

    def close(self) -> None:
        """Closes the connection; calls that are under way fail."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def upsert(
        self, points: Iterable[NewPoint], *, if_absent: bool = False, timeout: float | None = None
    ) -> Upserted:
        """Stores points, all or none; one whose id exists is replaced whole.

        Args:
            points: Each id once. A point without an id gets one from the client.
            if_absent: Whether points whose ids exist stay as they are.
            timeout: Seconds for the call; None for those of the client.
        """
        if operations.are_many(points):
            operations.check_many(points, self.info(timeout=timeout))
        return self._connection.call(operations.upsert(points, if_absent), timeout)

    def get(
        self,
        ids: Iterable[PointId],
        *,
        include: Iterable[Part] | None = None,
        timeout: float | None = None,
    ) -> Got:
        """Reads points by their ids.

        Args:
            ids: One that comes twice counts once.
            include: None for content, content type and metadata; an empty list for ids alone.
            timeout: Seconds for the call; None for those of the client.
        """
        return self._connection.call(operations.get(ids, include), timeout)

    def search(
        self,
        vector: VectorLike | None = None,
        *,
        similarity: SimilarityLike,
        like: PointId | None = None,
        limit: int = 10,
        ef: int | None = None,
        exact: bool = False,
        max_distance: float | None = None,
        filter: Filter | None = None,
        include: Iterable[Part] | None = None,
        timeout: float | None = None,
    ) -> list[Point]:
        """Finds the nearest points of a vector, or of a point that is stored, closest first.

        Args:
            vector: Shape (dimension,). Either this or `like` is given.
            similarity: How the distance is measured.
            like: The id of a point whose vector is taken; the point itself is left out.
            limit: The greatest number of points, at least 1.
            ef: The search breadth; None for the default of the service.
            exact: Whether all points are compared.
            max_distance: Points that are farther away are left out; in the unit of the similarity.
            filter: Points that do not pass are left out.
            include: None for distance, content and metadata; an empty list for ids alone.
            timeout: Seconds for the call; None for those of the client.
        """
        query = Query(
            vector=vector,
            like=like,
            similarity=similarity,
            limit=limit,
            ef=ef,
            exact=exact,
            max_distance=max_distance,
            filter=filter,
            include=include,
        )
        return self._connection.call(operations.search(query), timeout)

    def search_all(
        self, queries: Iterable[Query], *, timeout: float | None = None
    ) -> list[list[Point]]:
        """Finds the nearest points of each query, in one request.

        Returns:
            A list for each query, in their order.
        """
        return self._connection.call(operations.search_all(queries), timeout)

    def scroll(
        self,
        *,
        after: str | None = None,
        order: OrderLike = Order.OLDEST,
        filter: Filter | None = None,
        include: Iterable[Part] | None = None,
        timeout: float | None = None,
    ) -> Iterator[Point]:
        """Reads all points, in bounded memory: the service sends on as the iterator is read.

        Where the connection breaks, the iterator goes on behind the last message that came.

        Args:
            after: The `next` of an earlier page; None for all points.
            order: By the time when points were written.
            filter: Points that do not pass are left out.
            include: None for content, content type and metadata; an empty list for ids alone.
            timeout: Seconds within which the next points have to come; None for those of the
                client. All of them together may take longer.
        """
        asked = operations.scroll(order, filter, include)
        return scroll(self._connection, asked, after, self._settings.timeout_of(timeout))

    def scroll_page(
        self,
        limit: int,
        *,
        after: str | None = None,
        order: OrderLike = Order.OLDEST,
        filter: Filter | None = None,
        include: Iterable[Part] | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Reads a page of all points.

        Args:
            limit: The greatest number of points, at least 1. A page ends earlier where it would be
                too large.
            after: The `next` of the page before; None for the first page.
            order: By the time when points were written.
            filter: Points that do not pass are left out.
            include: None for content, content type and metadata; an empty list for ids alone.
            timeout: Seconds for the call; None for those of the client.
        """
        call = operations.scroll_page(limit, after, order, filter, include)
        return self._connection.call(call, timeout)

    def count(self, *, filter: Filter | None = None, timeout: float | None = None) -> int:
        """The number of points, or of those that pass a filter."""
        return self._connection.call(operations.count(filter), timeout)

    def delete(self, ids: Iterable[PointId], *, timeout: float | None = None) -> Deleted:
        """Deletes points, all or none. One that is not there is named in the answer."""
        return self._connection.call(operations.delete(ids), timeout)

    def delete_matching(self, filter: Filter, *, timeout: float | None = None) -> Deleted:
        """Deletes the points that pass a filter, all or none; neither it nor one in it is empty."""
        return self._connection.call(operations.delete_matching(filter), timeout)

    def delete_all(self, confirm: int, *, timeout: float | None = None) -> Deleted:
        """Deletes all points.

        Args:
            confirm: The number of points there are; with another one a `ConflictError` says how
                many there are, and nothing is deleted.
            timeout: Seconds for the call; None for those of the client.
        """
        return self._connection.call(operations.delete_all(confirm), timeout)

    def update(self, points: Iterable[PointUpdate], *, timeout: float | None = None) -> Updated:
        """Changes the payloads of points, all or none. One that is not there is named in the
        answer."""
        return self._connection.call(operations.update(points), timeout)

    def info(self, *, timeout: float | None = None) -> Info:
        """What the service is, holds and bounds."""
        return self._connection.call(operations.info(), timeout)

    def bulk(
        self,
        points: Iterable[NewPoint],
        *,
        if_absent: bool = False,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
        window: int = DEFAULT_WINDOW,
        patience: float = DEFAULT_PATIENCE,
        on_progress: Callable[[BulkProgress], None] | None = None,
        timeout: float | None = None,
    ) -> BulkProgress:
        """Stores many points in batches, and keeps several batches in flight.

        A batch that fails since the service is overloaded, gone or too slow is sent again for as
        long as `patience` says, to a service that has been restarted meanwhile, too. Nothing is
        stored twice, since each point has an id. A load that is broken off and made again needs ids
        that are the same each time (`id_for`).

        Args:
            points: They are taken one by one, as batches are sent. Of those with the same id the
                last one stays, with `if_absent` the first one.
            if_absent: Whether points whose ids exist stay as they are.
            batch_bytes: The size of a batch, unless the service takes only smaller ones. It never
                has more than 4,096 points.
            window: Batches under way at a time.
            patience: Seconds for which a batch is sent again after it has failed.
            on_progress: Called after each batch, in the order of the batches.
            timeout: Seconds for one attempt of one batch; None for those of the client.

        Raises:
            VectordError: A batch was refused, or `patience` has passed. Its message names the
                points. Earlier batches are stored; later ones may be, too.
        """
        settings = LoadSettings(if_absent, batch_bytes, window, patience, on_progress)
        load = Load(self._connection, settings, self._settings.timeout_of(timeout))
        return load.run(points)
