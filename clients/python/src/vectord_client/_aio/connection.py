"""The connection of the asyncio client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, cast

import grpc
import grpc.aio

from .._core.nodes import Nodes
from .._core.operations import Answer, Call
from .._core.retries import Attempts
from .._core.settings import SERVICE, Settings
from ..errors import VectordError, client_closed
from .answers import answer_of


class AnswerStream(Protocol):
    """Answers of a stream, as they come."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def cancel(self) -> object: ...


class Connection:
    """Makes calls in the event loop of the first one: gRPC takes the loop that runs when its
    channels are made."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._channels: list[grpc.aio.Channel] = []
        self._nodes = Nodes(settings.proxies)
        self._methods: dict[tuple[int, str], grpc.aio.UnaryUnaryMultiCallable] = {}
        self.is_closed = False

    @property
    def node(self) -> int:
        """The node that is asked at present."""
        return self._nodes.present

    async def call(self, call: Call[Answer], timeout: float | None) -> Answer:
        """The answer of a call, which is repeated as it allows. Raises a VectordError."""
        settings = self.settings
        attempts = Attempts(call.repeat, settings.retries, settings.timeout_of(timeout))
        while True:
            node = self.node
            try:
                seconds = attempts.timeout()
                return call.read(await self.send(node, call.method, call.request, seconds))
            except grpc.RpcError as failure:
                error = self.error_at(node, failure)
                delay = attempts.delay_after(error)
                if delay is None:
                    raise call.explain(error) from failure
            await asyncio.sleep(delay)

    def error_at(self, node: int, failure: grpc.RpcError) -> VectordError:
        """The error that a call of this node has failed with; another node is asked from now on if
        it may answer."""
        return self._nodes.error_at(node, failure, self.is_closed)

    async def send(self, node: int, method: str, request: bytes, timeout: float) -> bytes:
        """The answer to a request that is sent once. Raises a grpc.RpcError, or a CancelledError
        where the client is closed."""
        channel = self._open(node)
        ask = self._methods.get((node, method))
        if ask is None:
            ask = self._methods[node, method] = channel.unary_unary(SERVICE + method)
        call = ask(request, timeout=timeout, metadata=self.settings.metadata)
        try:
            return cast(bytes, await answer_of(call))
        finally:
            call.cancel()

    def stream(self, node: int, method: str, request: bytes, timeout: float) -> AnswerStream:
        """Sends a request, once, and answers a stream, which is read by `answers_of` and raises a
        grpc.RpcError. Raises a CancelledError where the client is closed."""
        open_stream = self._open(node).unary_stream(SERVICE + method)
        stream = open_stream(request, timeout=timeout, metadata=self.settings.metadata)
        return cast(AnswerStream, stream)

    async def close(self) -> None:
        self.is_closed = True
        for channel in self._channels:
            await channel.close()

    def _open(self, node: int) -> grpc.aio.Channel:
        if self.is_closed:
            raise client_closed()
        if not self._channels:
            tls = self.settings.tls
            self._channels = [
                grpc.aio.insecure_channel(address, options)
                if tls is None
                else grpc.aio.secure_channel(address, tls.credentials(), options)
                for address, options in self.settings.channels
            ]
        return self._channels[node]
