"""Makes a load: several batches under way, and broken ones sent again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import grpc

from .._core import operations
from .._core.bulk import Batch, LoadSettings, Tally, batches
from .._core.retries import Patience
from ..errors import CancelledError
from ..models import BulkProgress, NewPoint
from .connection import Connection, PendingAnswer


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that a node was sent."""

    node: int
    answer: PendingAnswer


class Load:
    """One load."""

    def __init__(self, connection: Connection, settings: LoadSettings, timeout: float) -> None:
        """
        Args:
            connection: Where the points go.
            settings: How they go there.
            timeout: Seconds for one attempt of one batch.
        """
        self._connection = connection
        self._settings = settings
        self._timeout = timeout
        self._tally = Tally()
        # In the order of the load, in which they are waited for.
        self._under_way: deque[tuple[Batch, Sent]] = deque()

    def run(self, points: Iterable[NewPoint]) -> BulkProgress:
        """Stores all points. A VectordError names the batch that failed; those before it are
        stored."""
        info = operations.info()
        name = "the start of the load"
        sent = self._start(info.method, info.request, name)
        answer = self._result(sent, info.method, info.request, name)
        batcher = self._settings.batcher(info.read(answer).limits)
        try:
            for batch in batches(points, batcher):
                while self._has_to_wait(batch):
                    self._finish_first()
                sent = self._start(operations.UPSERT, batch.request, batch.name)
                self._under_way.append((batch, sent))
            while self._under_way:
                self._finish_first()
        finally:
            for _, sent in self._under_way:
                sent.answer.cancel()
        return self._tally.progress()

    def _has_to_wait(self, batch: Batch) -> bool:
        is_full = len(self._under_way) == self._settings.window
        return is_full or batch.shares_a_point(other for other, _ in self._under_way)

    def _finish_first(self) -> None:
        batch, sent = self._under_way[0]
        answer = self._result(sent, operations.UPSERT, batch.request, batch.name)
        self._under_way.popleft()
        progress = self._tally.add(batch, operations.read_upserted(answer))
        if self._settings.on_progress is not None:
            self._settings.on_progress(progress)

    def _result(self, sent: Sent, method: str, request: bytes, name: str) -> bytes:
        """The answer to a request that has been sent, which is sent again where it breaks."""
        patience = Patience(self._settings.patience)
        while True:
            try:
                return sent.answer.result()
            except grpc.RpcError as failure:
                error = self._connection.error_at(sent.node, failure)
                delay = patience.delay_after(error)
                if delay is None:
                    raise error.within(name) from failure
            self._tally.repeats += 1
            time.sleep(delay)
            sent = self._start(method, request, name)

    def _start(self, method: str, request: bytes, name: str) -> Sent:
        node = self._connection.node
        try:
            return Sent(node, self._connection.start(node, method, request, self._timeout))
        except CancelledError as error:
            raise error.within(name) from error
