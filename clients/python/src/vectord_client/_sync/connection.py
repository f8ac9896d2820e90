"""The connection of the synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol, cast

import grpc

from .._core.operations import Answer, Call
from .._core.retries import Attempts
from .._core.settings import CHANNEL_OPTIONS, SERVICE, Settings
from ..errors import error_of


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

    def call(self, call: Call[Answer], timeout: float | None) -> Answer:
        """The answer of a call, which is repeated as it allows. Raises a VectordError."""
        settings = self.settings
        attempts = Attempts(call.repeat, settings.retries, settings.timeout_of(timeout))
        while True:
            try:
                answer = self._method(call.method)(
                    call.request, timeout=attempts.timeout(), metadata=settings.metadata
                )
                return call.read(answer)
            except grpc.RpcError as failure:
                error = error_of(failure)
                delay = attempts.delay_after(error)
                if delay is None:
                    raise error from failure
            time.sleep(delay)

    def start(self, method: str, request: bytes, timeout: float) -> PendingAnswer:
        """Sends a request, once; its result raises a grpc.RpcError."""
        metadata = self.settings.metadata
        future = self._method(method).future(request, timeout=timeout, metadata=metadata)
        return cast(PendingAnswer, future)

    def stream(self, method: str, request: bytes, timeout: float) -> AnswerStream:
        """Sends a request, once, and answers a stream, which raises a grpc.RpcError."""
        open_stream = self._channel.unary_stream(SERVICE + method)
        stream = open_stream(request, timeout=timeout, metadata=self.settings.metadata)
        return cast(AnswerStream, stream)

    def close(self) -> None:
        self._channel.close()

    def _method(self, name: str) -> grpc.UnaryUnaryMultiCallable:
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = self._channel.unary_unary(SERVICE + name)
        return method
