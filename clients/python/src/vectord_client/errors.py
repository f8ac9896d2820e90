"""The errors of the service, and of the way to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

# Whose reasons they are.
_DOMAIN = "vectord"


class VectordError(Exception):
    """A request that failed. Each code has a class of its own below."""

    code: str
    """What went wrong, for programs."""
    message: str
    """What went wrong, for people: the field, what was found and what was expected."""
    retryable: bool
    """Whether the same request may succeed soon."""
    retry_after: float | None
    """Seconds after which the service expects to be able to; None where it does not say."""
    is_refusal: bool
    """Whether it is certain that no service did anything of the request: it was refused, or there
    was no connection to send it. Otherwise a write may have happened."""
    request_id: str | None
    """What the log of the service calls the request; None where no service answered."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        is_refusal: bool = False,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        self.is_refusal = is_refusal
        self.request_id = request_id

    def within(self, what: str) -> VectordError:
        """The same error, of a part of what was asked for, which the message then begins with."""
        return self.reworded(f"{what}: {self.message}")

    def reworded(self, message: str) -> VectordError:
        """The same error with another message."""
        return type(self)(self.code, message, **self._rest())

    def __reduce__(self) -> tuple[object, ...]:
        # Copying and pickling would call the class with the text of the error alone.
        make = partial(type(self), self.code, self.message, **self._rest())
        return make, (), self.__dict__

    def _rest(self) -> dict[str, Any]:
        return {
            "retryable": self.retryable,
            "retry_after": self.retry_after,
            "is_refusal": self.is_refusal,
            "request_id": self.request_id,
        }


class InvalidArgumentError(VectordError, ValueError):
    """INVALID_ARGUMENT: the request breaks a rule, of the service or of the client, which then has
    sent nothing; the message names the field."""


class UnauthenticatedError(VectordError):
    """UNAUTHENTICATED: the key is missing or unknown."""


class PermissionDeniedError(VectordError):
    """PERMISSION_DENIED: the key may only read."""


class NotFoundError(VectordError):
    """NOT_FOUND: the point of a query's `like` is not there."""


class ConflictError(VectordError):
    """CONFLICT: `confirm` is not the number of points; the message says how many there are."""


class TimedOutError(VectordError):
    """TIMEOUT: the time given has passed, the service has waited too long, or a cluster does not
    know whether its replicas have stored a write. A write may have happened."""


class TooLargeError(VectordError):
    """TOO_LARGE: the request or its answer is beyond a limit of the service."""


class OverloadedError(VectordError):
    """OVERLOADED: too many requests are in flight."""


class UnavailableError(VectordError):
    """UNAVAILABLE: the service is stopping. It has done nothing of the request."""


class ConnectionLostError(VectordError):
    """CONNECTION_LOST: there was no connection, which is a refusal, or it broke before the answer
    came: then a write may have happened."""


class StorageFullError(VectordError):
    """STORAGE_FULL: the disk of the service is full; reads go on."""


class CancelledError(VectordError):
    """CANCELLED: the client was closed before the answer came, or before the call. A write that was
    under way may have happened."""


class InternalError(VectordError):
    """INTERNAL: a fault of the service; its log has the reason under the request id."""


class UnexpectedAnswerError(VectordError):
    """UNEXPECTED_ANSWER: what answers is no vectord, or one of a version that lacks the call."""


_CLASSES: dict[str, type[VectordError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "NOT_FOUND": NotFoundError,
    "CONFLICT": ConflictError,
    "TIMEOUT": TimedOutError,
    "CANCELLED": CancelledError,
    "TOO_LARGE": TooLargeError,
    "OVERLOADED": OverloadedError,
    "UNAVAILABLE": UnavailableError,
    "CONNECTION_LOST": ConnectionLostError,
    "STORAGE_FULL": StorageFullError,
    "INTERNAL": InternalError,
    "UNEXPECTED_ANSWER": UnexpectedAnswerError,
}

_RETRYABLE = frozenset({"OVERLOADED", "UNAVAILABLE", "CONNECTION_LOST", "TIMEOUT"})

# What a status tells by itself, whoever has answered it.
_CODES = {
    "INVALID_ARGUMENT": "INVALID_ARGUMENT",
    "UNAUTHENTICATED": "UNAUTHENTICATED",
    "PERMISSION_DENIED": "PERMISSION_DENIED",
    "NOT_FOUND": "NOT_FOUND",
    "FAILED_PRECONDITION": "CONFLICT",
    "DEADLINE_EXCEEDED": "TIMEOUT",
}

# Statuses that gRPC gives a call whose connection breaks or is never made, or that what lies
# between the client and the service answers in its place.
_OF_CONNECTION = frozenset(
    {"UNAVAILABLE", "INTERNAL", "UNKNOWN", "CANCELLED", "RESOURCE_EXHAUSTED"}
)

# What gRPC says of a call for which it had no connection.
_NEVER_CONNECTED = (
    "failed to connect to all addresses",
    "errors resolving ",
    "DNS resolution failed for ",
)

# Reasons that have another name as a code.
_REASONS = {"REQUEST_TOO_LARGE": "TOO_LARGE", "OUTCOME_UNKNOWN": "TIMEOUT"}


def error_of(failure: grpc.RpcError, is_closed: bool, proxy: str | None = None) -> VectordError:
    """The error that a failed call stands for. `is_closed` tells whether the client has been
    closed: then that is why there is no connection. `proxy` is what messages call the proxy to the
    service, if there is one."""
    status, details = failure.code().name, failure.details() or ""
    error = error_from(status, details, failure.trailing_metadata() or (), proxy)
    return client_closed() if is_closed and isinstance(error, ConnectionLostError) else error


def invalid(message: str) -> InvalidArgumentError:
    """The error of what the client itself refuses to send."""
    return InvalidArgumentError("INVALID_ARGUMENT", message, is_refusal=True)


def client_closed() -> CancelledError:
    """The error of a call whose client has been closed."""
    return CancelledError("CANCELLED", "the client is closed")


def error_from(
    status: str,
    message: str,
    trailers: Iterable[tuple[str, str | bytes]],
    proxy: str | None = None,
) -> VectordError:
    """The error that a status of gRPC stands for, with what the trailing metadata say about it."""
    found = {key: value for key, value in trailers}
    reason, retry_after = _details(found.get("grpc-status-details-bin"))
    given = found.get("x-request-id")
    request_id = given if isinstance(given, str) else None
    code = _code_of(status, reason, request_id)
    is_unsent = (
        code == "CONNECTION_LOST" and request_id is None and message.startswith(_NEVER_CONNECTED)
    )
    if code == "CONNECTION_LOST":
        message = f"no answer came from the service: {message}"
        if proxy is not None:
            message += f" (through {proxy}; no_proxy names hosts that are reached without it)"
    elif code == "UNEXPECTED_ANSWER":
        message = f"the answer is {status} and none of vectord.v1: {message}"
    return _CLASSES.get(code, VectordError)(
        code,
        message,
        retryable=code in _RETRYABLE,
        retry_after=retry_after,
        # A time that has passed leaves open what was done. Else, where the service gives a reason
        # or the request is wrong, it has done nothing.
        is_refusal=is_unsent or (code != "TIMEOUT" and (reason is not None or status in _CODES)),
        request_id=request_id,
    )


def _code_of(status: str, reason: str | None, request_id: str | None) -> str:
    if reason is not None:
        return _REASONS.get(reason, reason)
    if status in _CODES:
        return _CODES[status]
    if status == "INTERNAL" and request_id is not None:
        return "INTERNAL"
    return "CONNECTION_LOST" if status in _OF_CONNECTION else "UNEXPECTED_ANSWER"


def _details(packed: str | bytes | None) -> tuple[str | None, float | None]:
    """The reason that the service gives, and the seconds after which to try again."""
    reason: str | None = None
    retry_after: float | None = None
    if not isinstance(packed, bytes):
        return reason, retry_after
    for detail in status_pb2.Status.FromString(packed).details:
        info, delay = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == _DOMAIN:
            reason = info.reason
        elif detail.Unpack(delay):
            retry_after = delay.retry_delay.ToTimedelta().total_seconds()
    return reason, retry_after
