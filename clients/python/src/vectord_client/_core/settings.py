"""How a client reaches the service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import cast

import grpc

from ..errors import invalid
from .proxy import proxy_to

SERVICE = "/vectord.v1.PointsService/"

DEFAULT_TIMEOUT = 30.0
# Their waits take some 11 seconds together: a service that starts again is there by then.
DEFAULT_RETRIES = 7

# 31 years. gRPC counts nanoseconds since 1970 in 64 bits: with some 7 times as many seconds a
# deadline would wrap around into the past.
_GREATEST_TIMEOUT = 1e9

_CHANNEL_OPTIONS = [
    # The service bounds its answers (MAX_REQUEST_BYTES); gRPC would refuse those beyond 4 MiB.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A service that is back is found soon: gRPC would wait for up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # Each client has a connection of its own; gRPC would share one between those of equal options.
    ("grpc.use_local_subchannel_pool", 1),
    # The client repeats calls itself, and knows which may be repeated.
    ("grpc.enable_retries", 0),
]

_ONE_NODE = [
    *_CHANNEL_OPTIONS,
    # A call on a connection that is dead without a sign of it ends after 90 seconds.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.http2.ping_timeout_ms", 60_000),
]

# Another node may answer. One that is frozen takes connections, and says nothing.
_SEVERAL_NODES = [
    *_CHANNEL_OPTIONS,
    ("grpc.min_reconnect_backoff_ms", 3_000),
    # A node that has sent nothing for so long is asked whether it is there, and each time anew.
    ("grpc.keepalive_time_ms", 2_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.ping_timeout_ms", 3_000),
    # gRPC would also ask to measure the line, whose answers wait behind the points on a slow one.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 4 * 1024 * 1024),
]


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS, and whom the client trusts. All parts are PEM."""

    root_certificates: bytes | None = None
    """Who may sign the certificate of the service; None for whom gRPC trusts."""
    client_certificate: bytes | None = None
    """The certificate of the client and its chain, where the service asks for one
    (TLS_CLIENT_CA)."""
    client_key: bytes | None = field(default=None, repr=False)
    """The key of that certificate."""

    def __post_init__(self) -> None:
        if (self.client_certificate is None) != (self.client_key is None):
            raise invalid("client_certificate and client_key are given together or not at all")

    @staticmethod
    def from_files(
        root_certificates: str | Path | None = None,
        *,
        client_certificate: str | Path | None = None,
        client_key: str | Path | None = None,
    ) -> Tls:
        """The same, read from files.

        Raises:
            OSError: A file cannot be read.
        """
        return Tls(_read(root_certificates), _read(client_certificate), _read(client_key))

    def credentials(self) -> grpc.ChannelCredentials:
        """The same, as gRPC takes it."""
        return grpc.ssl_channel_credentials(
            self.root_certificates, self.client_key, self.client_certificate
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What both clients are made from."""

    addresses: tuple[str, ...]
    """Host and port of the gRPC interface of each node, such as 127.0.0.1:50051."""
    key: str = field(repr=False)
    tls: Tls | None
    timeout: float
    retries: int

    def __post_init__(self) -> None:
        _check_key(self.key)
        if self.retries < 0:
            raise invalid(f"retries is {self.retries}, expected 0 or more")
        self.timeout_of(self.timeout)

    @property
    def proxies(self) -> list[str | None]:
        """The proxy to each node, see `proxy_to`."""
        return [proxy_to(address) for address in self.addresses]

    @property
    def channels(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """The address of each node, and the options of the channel to it."""
        options = _ONE_NODE if len(self.addresses) == 1 else _SEVERAL_NODES
        return [
            (address, [*options, ("grpc.enable_http_proxy", int(proxy is not None))])
            for address, proxy in zip(self.addresses, self.proxies, strict=True)
        ]

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of every call."""
        return (("authorization", self.key),)

    def timeout_of(self, given: float | None) -> float:
        """The seconds that a call may take, as many as gRPC can count."""
        timeout = self.timeout if given is None else given
        if not isinstance(timeout, Real) or not timeout > 0:
            raise invalid(f"timeout is {timeout!r}, expected more than 0 seconds")
        return float(min(timeout, _GREATEST_TIMEOUT))


def settings_of(
    address: str | Sequence[str], key: str, tls: Tls | None, timeout: float, retries: int
) -> Settings:
    """The settings that a client is given.

    Raises:
        InvalidArgumentError: One of them cannot be used; the message names it.
    """
    several = isinstance(address, Sequence) and not isinstance(address, str | bytes)
    given = tuple(address) if several else (cast(str, address),)
    if not given:
        raise invalid("address is empty, expected host:port of one node or more")
    found = [_address_of(one) for one in given]
    schemes = {scheme for scheme, _ in found}
    if len(schemes) > 1:
        raise invalid(f"address is {address!r}, expected addresses of one scheme")
    if tls is not None and not isinstance(tls, Tls):
        raise invalid(f"tls is of the type {type(tls).__name__}, expected a Tls")
    if schemes == {"grpc"} and tls is not None:
        raise invalid(f"tls is given for {address!r}, expected grpcs:// or host:port")
    if schemes == {"grpcs"} and tls is None:
        tls = Tls()
    return Settings(tuple(target for _, target in found), key, tls, timeout, retries)


# A name, an address of IPv4, or one of IPv6 in brackets, with a port.
_TARGET = re.compile(r"(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.%]+\]):(\d{1,5})")


def _address_of(given: str) -> tuple[str, str]:
    """The scheme of an address, empty for none, and its host:port."""
    expected = "expected host:port such as 127.0.0.1:50051, or grpc:// or grpcs:// before it"
    if not isinstance(given, str):
        raise invalid(f"address is {given!r}, {expected}")
    scheme, _, target = given.rpartition("://")
    if scheme in ("http", "https"):
        raise invalid(
            f"address is {given!r}, {expected}: this client speaks gRPC alone, which has a port of "
            "its own"
        )
    port = _TARGET.fullmatch(target.removesuffix("/") if scheme else target)
    if scheme not in ("", "grpc", "grpcs") or port is None or not 0 < int(port[1]) < 65_536:
        # What stands before an @ may be a secret.
        shown = re.sub(r"[^/]*@", "...@", given)
        raise invalid(f"address is {shown!r}, {expected}")
    return scheme, port[0]


def _check_key(key: str) -> None:
    """Refuses what gRPC does not carry in metadata. The message does not show the key."""
    if not isinstance(key, str):
        raise invalid(f"key is of the type {type(key).__name__}, expected a text")
    if not key:
        raise invalid("key is empty, expected an API key of the service")
    for at, character in enumerate(key):
        if not " " <= character <= "~":
            found = f"U+{ord(character):04X} at index {at}"
            raise invalid(f"key has the character {found}, expected printable ASCII")


def _read(path: str | Path | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()
