"""The connection of the synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar, cast

import grpc

from .._core.operations import Answer, Call
from .._core.retries import Attempts
from .._core.settings import CHANNEL_OPTIONS, SERVICE, Settings
from ..errors import client_closed, error_of

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
        self._channel: grpc.Channel = (
            grpc.insecure_channel(settings.address, CHANNEL_OPTIONS)
            if tls is None
            else grpc.secure_channel(settings.address, tls.credentials(), CHANNEL_OPTIONS)
        )
        self._methods: dict[str, grpc.UnaryUnaryMultiCallable] = {}
        self.is_closed = False

    def call(self, call: Call[Answer], timeout: float | None) -> Answer:
        """The answer of a call, which is repeated as it allows. Raises a VectordError."""
        settings = self.settings
        attempts = Attempts(call.repeat, settings.retries, settings.timeout_of(timeout))
        while True:
            try:
                ask = self._method(call.method)
                return call.read(self._begin(ask, call.request, attempts.timeout()))
            except grpc.RpcError as failure:
                error = error_of(failure, self.is_closed)
                delay = attempts.delay_after(error)
                if delay is None:
                    raise error from failure
            time.sleep(delay)

    def start(self, method: str, request: bytes, timeout: float) -> PendingAnswer:
        """Sends a request, once; its result raises a grpc.RpcError. Raises a CancelledError where
        the client is closed."""
        return cast(PendingAnswer, self._begin(self._method(method).future, request, timeout))

    def stream(self, method: str, request: bytes, timeout: float) -> AnswerStream:
        """Sends a request, once, and answers a stream, which raises a grpc.RpcError. Raises a
        CancelledError where the client is closed."""
        open_stream = self._channel.unary_stream(SERVICE + method)
        return cast(AnswerStream, self._begin(open_stream, request, timeout))

    def close(self) -> None:
        self.is_closed = True
        self._channel.close()

    def _begin(self, ask: Callable[..., Begun], request: bytes, timeout: float) -> Begun:
        """Calls what gRPC has for a method."""
        try:
            return ask(request, timeout=timeout, metadata=self.settings.metadata)
        except ValueError as error:
            # What gRPC raises for a channel that is closed; another thread may close it any time.
            if self.is_closed:
                raise client_closed() from error
            raise

    def _method(self, name: str) -> grpc.UnaryUnaryMultiCallable:
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = self._channel.unary_unary(SERVICE + name)
        return method
