"""The connection of the synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar, cast

import grpc

from .._core.nodes import Nodes
from .._core.operations import Answer, Call
from .._core.retries import Attempts
from .._core.settings import SERVICE, Settings
from ..errors import VectordError, client_closed

Begun = TypeVar("Begun")


class PendingAnswer(Protocol):
    """An answer that is still to come."""

    def result(self) -> bytes: ...

    def cancel(self) -> object: ...


class AnswerStream(Protocol):
    """Answers of a stream, as they come."""

    def __iter__(self) -> Iterator[bytes]: ...

    def cancel(self) -> object: ...


class Connection:
    """Makes calls; threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        tls = settings.tls
        self._channels: list[grpc.Channel] = [
            grpc.insecure_channel(address, options)
            if tls is None
            else grpc.secure_channel(address, tls.credentials(), options)
            for address, options in settings.channels
        ]
        self._nodes = Nodes(settings.proxies)
        self._methods: dict[tuple[int, str], grpc.UnaryUnaryMultiCallable] = {}
        self.is_closed = False

    @property
    def node(self) -> int:
        """The node that is asked at present."""
        return self._nodes.present

    def call(self, call: Call[Answer], timeout: float | None) -> Answer:
        """The answer of a call, which is repeated as it allows. Raises a VectordError."""
        settings = self.settings
        attempts = Attempts(call.repeat, settings.retries, settings.timeout_of(timeout))
        while True:
            node = self.node
            try:
                ask = self._method(node, call.method)
                return call.read(self._begin(ask, call.request, attempts.timeout()))
            except grpc.RpcError as failure:
                error = self.error_at(node, failure)
                delay = attempts.delay_after(error)
                if delay is None:
                    raise call.explain(error) from failure
            time.sleep(delay)

    def error_at(self, node: int, failure: grpc.RpcError) -> VectordError:
        """The error that a call of this node has failed with; another node is asked from now on if
        it may answer."""
        return self._nodes.error_at(node, failure, self.is_closed)

    def start(self, node: int, method: str, request: bytes, timeout: float) -> PendingAnswer:
        """Sends a request, once; its result raises a grpc.RpcError. Raises a CancelledError where
        the client is closed."""
        return cast(PendingAnswer, self._begin(self._method(node, method).future, request, timeout))

    def stream(self, node: int, method: str, request: bytes, timeout: float) -> AnswerStream:
        """Sends a request, once, and answers a stream, which raises a grpc.RpcError. Raises a
        CancelledError where the client is closed."""
        open_stream = self._channels[node].unary_stream(SERVICE + method)
        return cast(AnswerStream, self._begin(open_stream, request, timeout))

    def close(self) -> None:
        self.is_closed = True
        for channel in self._channels:
            channel.close()

    def _begin(self, ask: Callable[..., Begun], request: bytes, timeout: float) -> Begun:
        """Calls what gRPC has for a method."""
        try:
            return ask(request, timeout=timeout, metadata=self.settings.metadata)
        except ValueError as error:
            # What gRPC raises for a channel that is closed; another thread may close it any time.
            if self.is_closed:
                raise client_closed() from error
            raise

    def _method(self, node: int, name: str) -> grpc.UnaryUnaryMultiCallable:
        method = self._methods.get((node, name))
        if method is None:
            method = self._channels[node].unary_unary(SERVICE + name)
            self._methods[node, name] = method
        return method
