"""Reads all points, one message after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc

from .._core.operations import Scroll
from .._core.retries import Resumption
from ..models import Point
from .answers import answers_of
from .connection import Connection


async def scroll(
    connection: Connection, asked: Scroll, after: str | None, timeout: float
) -> AsyncIterator[Point]:
    """The points; a stream that breaks is gone on with behind the last message that came."""
    attempts = Resumption(connection.settings.retries, timeout)
    while True:
        node = connection.node
        stream = connection.stream(node, asked.METHOD, asked.request(after), attempts.timeout())
        try:
            async for message in answers_of(stream):
                page = asked.read(message)
                attempts.message_came()
                after = page.next
                for point in page.points:
                    yield point
            return
        except grpc.RpcError as failure:
            error = connection.error_at(node, failure)
            delay = attempts.delay_after(error)
            if delay is None:
                raise error from failure
        finally:
            stream.cancel()
        await asyncio.sleep(delay)
