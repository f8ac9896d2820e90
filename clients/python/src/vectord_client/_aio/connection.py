"""The connection of the asyncio client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, cast

import grpc
import grpc.aio

from .._core.operations import Answer, Call
from .._core.retries import Attempts
from .._core.settings import CHANNEL_OPTIONS, SERVICE, Settings
from ..errors import client_closed, error_of
from .answers import answer_of


class AnswerStream(Protocol):
    """Answers of a stream, as they come."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def cancel(self) -> object: ...


class Connection:
    """Makes calls in the event loop of the first one: gRPC takes the loop that runs when its
    channel is made."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._channel: grpc.aio.Channel | None = None
        self._methods: dict[str, grpc.aio.UnaryUnaryMultiCallable] = {}
        self.is_closed = False

    async def call(self, call: Call[Answer], timeout: float | None) -> Answer:
        """The answer of a call, which is repeated as it allows. Raises a VectordError."""
        settings = self.settings
        attempts = Attempts(call.repeat, settings.retries, settings.timeout_of(timeout))
        while True:
            try:
                return call.read(await self.send(call.method, call.request, attempts.timeout()))
            except grpc.RpcError as failure:
                error = error_of(failure, self.is_closed)
                delay = attempts.delay_after(error)
                if delay is None:
                    raise error from failure
            await asyncio.sleep(delay)

    async def send(self, method: str, request: bytes, timeout: float) -> bytes:
        """The answer to a request that is sent once. Raises a grpc.RpcError, or a CancelledError
        where the client is closed."""
        channel = self._open()
        ask = self._methods.get(method)
        if ask is None:
            ask = self._methods[method] = channel.unary_unary(SERVICE + method)
        call = ask(request, timeout=timeout, metadata=self.settings.metadata)
        try:
            return cast(bytes, await answer_of(call))
        finally:
            call.cancel()

    def stream(self, method: str, request: bytes, timeout: float) -> AnswerStream:
        """Sends a request, once, and answers a stream, which is read by `answers_of` and raises a
        grpc.RpcError. Raises a CancelledError where the client is closed."""
        open_stream = self._open().unary_stream(SERVICE + method)
        stream = open_stream(request, timeout=timeout, metadata=self.settings.metadata)
        return cast(AnswerStream, stream)

    async def close(self) -> None:
        self.is_closed = True
        if self._channel is not None:
            await self._channel.close()

    def _open(self) -> grpc.aio.Channel:
        if self.is_closed:
            raise client_closed()
        if self._channel is None:
            address, tls = self.settings.address, self.settings.tls
            self._channel = (
                grpc.aio.insecure_channel(address, CHANNEL_OPTIONS)
                if tls is None
                else grpc.aio.secure_channel(address, tls.credentials(), CHANNEL_OPTIONS)
            )
        return self._channel
