"""Waits for answers of gRPC. Where its channel is closed, it raises the same asyncio.CancelledError
as in a task that is cancelled; here the two are told from each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from typing import TypeVar

from ..errors import client_closed

Answer = TypeVar("Answer")


async def answer_of(call: Awaitable[Answer]) -> Answer:
    """The answer of a call. Raises a CancelledError of vectord where the client was closed, and one
    of asyncio where the task that waits was cancelled."""
    # The call has its own task, so that gRPC can cancel it without cancelling the task that waits.
    waiting = asyncio.ensure_future(call)
    try:
        await asyncio.wait([waiting])
    except asyncio.CancelledError:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        raise
    if waiting.cancelled():
        raise client_closed()
    return waiting.result()


async def answers_of(stream: AsyncIterable[Answer]) -> AsyncIterator[Answer]:
    """The same for all answers of a stream."""
    answers = aiter(stream)
    while True:
        try:
            answer = await answer_of(anext(answers))
        except StopAsyncIteration:
            return
        yield answer
