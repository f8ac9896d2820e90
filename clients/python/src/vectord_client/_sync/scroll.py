"""Reads all points, one message after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator

import grpc

from .._core.operations import Scroll
from .._core.retries import Resumption
from ..models import Point
from .connection import Connection


def scroll(
    connection: Connection, asked: Scroll, after: str | None, timeout: float
) -> Iterator[Point]:
    """The points; a stream that breaks is gone on with behind the last message that came."""
    attempts = Resumption(connection.settings.retries, timeout)
    while True:
        node = connection.node
        stream = connection.stream(node, asked.METHOD, asked.request(after), attempts.timeout())
        try:
            for message in stream:
                page = asked.read(message)
                attempts.message_came()
                after = page.next
                yield from page.points
            return
        except grpc.RpcError as failure:
            error = connection.error_at(node, failure)
            delay = attempts.delay_after(error)
            if delay is None:
                raise error from failure
        finally:
            stream.cancel()
        time.sleep(delay)
