"""Makes a load: several batches under way, and broken ones sent again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable

import grpc

from .._core import operations
from .._core.bulk import Batch, Batcher, LoadSettings, Tally, batches
from .._core.retries import Patience
from ..errors import CancelledError
from ..models import BulkProgress, NewPoint
from .connection import Connection


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
        self._under_way: deque[tuple[Batch, asyncio.Task[bytes]]] = deque()

    async def run(self, points: Iterable[NewPoint] | AsyncIterable[NewPoint]) -> BulkProgress:
        """Stores all points. A VectordError names the batch that failed; those before it are
        stored."""
        info = operations.info()
        answer = await self._send(info.method, info.request, "the start of the load")
        batcher = self._settings.batcher(info.read(answer).limits)
        try:
            async for batch in _batches(points, batcher):
                while self._has_to_wait(batch):
                    await self._finish_first()
                send = self._send(operations.UPSERT, batch.request, batch.name)
                self._under_way.append((batch, asyncio.create_task(send)))
            while self._under_way:
                await self._finish_first()
        finally:
            tasks = [task for _, task in self._under_way]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._tally.progress()

    def _has_to_wait(self, batch: Batch) -> bool:
        is_full = len(self._under_way) == self._settings.window
        return is_full or batch.shares_a_point(other for other, _ in self._under_way)

    async def _finish_first(self) -> None:
        batch, task = self._under_way[0]
        answer = await task
        self._under_way.popleft()
        progress = self._tally.add(batch, operations.read_upserted(answer))
        if self._settings.on_progress is not None:
            self._settings.on_progress(progress)

    async def _send(self, method: str, request: bytes, name: str) -> bytes:
        """The answer to a request, which is sent again where it breaks."""
        patience = Patience(self._settings.patience)
        while True:
            node = self._connection.node
            try:
                return await self._connection.send(node, method, request, self._timeout)
            except CancelledError as closed:
                raise closed.within(name) from closed
            except grpc.RpcError as failure:
                error = self._connection.error_at(node, failure)
                delay = patience.delay_after(error)
                if delay is None:
                    raise error.within(name) from failure
            self._tally.repeats += 1
            await asyncio.sleep(delay)


async def _batches(
    points: Iterable[NewPoint] | AsyncIterable[NewPoint], batcher: Batcher
) -> AsyncIterator[Batch]:
    """All points of a load in batches, wherever they come from."""
    if not isinstance(points, AsyncIterable):
        for batch in batches(points, batcher):
            yield batch
            # Tasks begin when this one pauses: the batch is on its way while the next one is made.
            await asyncio.sleep(0)
        return
    async for point in points:
        full = batcher.add(point)
        if full is not None:
            yield full
    rest = batcher.rest()
    if rest is not None:
        yield rest
