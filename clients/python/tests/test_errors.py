"""The errors that statuses of gRPC stand for. The service sends most of them in other tests."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from vectord_client import (
    ConnectionLostError,
    InternalError,
    StorageFullError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
)
from vectord_client.errors import error_from


def trailers(reason: str, domain: str = "vectord", seconds: int | None = None) -> list[tuple]:
    status = Status()
    details = [ErrorInfo(reason=reason, domain=domain)]
    if seconds is not None:
        delay = RetryInfo()
        delay.retry_delay.seconds = seconds
        details.append(delay)
    for detail in details:
        packed = Any()
        packed.Pack(detail)
        status.details.append(packed)
    return [("grpc-status-details-bin", status.SerializeToString()), ("x-request-id", "r")]


@pytest.mark.parametrize(
    ("status", "reason", "kind", "code", "retryable"),
    [
        ("RESOURCE_EXHAUSTED", "STORAGE_FULL", StorageFullError, "STORAGE_FULL", False),
        ("UNAVAILABLE", "UNAVAILABLE", UnavailableError, "UNAVAILABLE", True),
    ],
)
def test_a_reason_tells_more_than_the_status(
    status: str, reason: str, kind: type, code: str, retryable: bool
) -> None:
    error = error_from(status, "x", trailers(reason, seconds=2))
    assert type(error) is kind
    assert (error.code, error.retryable, error.is_refusal) == (code, retryable, True)
    assert (error.retry_after, error.request_id) == (2.0, "r")


def test_an_unknown_outcome_is_a_timeout_and_no_refusal() -> None:
    error = error_from("DEADLINE_EXCEEDED", "x", trailers("OUTCOME_UNKNOWN"))
    assert type(error) is TimedOutError
    assert (error.code, error.retryable, error.is_refusal) == ("TIMEOUT", True, False)


def test_reasons_of_others_say_nothing() -> None:
    error = error_from("UNAVAILABLE", "x", trailers("OVERLOADED", domain="a-proxy"))
    assert (error.code, error.is_refusal) == ("CONNECTION_LOST", False)


def test_a_fault_of_the_service_is_no_refusal() -> None:
    error = error_from("INTERNAL", "x", [("x-request-id", "r")])
    assert type(error) is InternalError
    assert (error.retryable, error.is_refusal) == (False, False)


@pytest.mark.parametrize("status", ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "RESOURCE_EXHAUSTED"])
def test_what_no_service_has_answered_is_a_lost_connection(status: str) -> None:
    error = error_from(status, "x", ())
    assert type(error) is ConnectionLostError
    assert (error.retryable, error.is_refusal) == (True, False)
    assert error.message == "no answer came from the service: x"


@pytest.mark.parametrize(
    ("message", "trailing", "is_refusal"),
    [
        ("failed to connect to all addresses; last error: x", (), True),
        ("errors resolving x:1: [x]", (), True),
        ("DNS resolution failed for x:1: x", (), True),
        ("Socket closed", (), False),
        ("x: failed to connect to all addresses", (), False),
        ("failed to connect to all addresses", [("x-request-id", "r")], False),
    ],
)
def test_what_was_not_sent_is_a_refusal(message: str, trailing: list, is_refusal: bool) -> None:
    error = error_from("UNAVAILABLE", message, trailing)
    assert type(error) is ConnectionLostError
    assert (error.retryable, error.is_refusal) == (True, is_refusal)


def test_what_vectord_does_not_answer_is_unexpected() -> None:
    error = error_from("UNIMPLEMENTED", "x", ())
    assert type(error) is UnexpectedAnswerError
    assert (error.retryable, error.is_refusal) == (False, False)
    assert error.message == "the answer is UNIMPLEMENTED and none of vectord.v1: x"


def test_a_part_of_a_load_is_named_before_the_message() -> None:
    error = error_from("DEADLINE_EXCEEDED", "x", ()).within("points 3 to 5")
    assert type(error) is TimedOutError
    assert str(error) == "TIMEOUT: points 3 to 5: x"
    assert error.retryable


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_an_error_survives_copying_and_pickling(twin_of: Callable[[Exception], Exception]) -> None:
    error = error_from("UNAVAILABLE", "x", trailers("UNAVAILABLE", seconds=2)).within("point 1")
    error.add_note("in a pool of processes")
    twin = twin_of(error)
    assert type(twin) is UnavailableError
    assert str(twin) == str(error) == "UNAVAILABLE: point 1: x"
    assert vars(twin) == vars(error)
    assert twin.retry_after == 2.0
