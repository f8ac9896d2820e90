"""The proxy through which gRPC reaches a service."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

# The variables that name a proxy for gRPC, and those that name hosts reached without one. Of each,
# the first that is set counts.
_NAMES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPT = ("no_grpc_proxy", "no_proxy", "NO_PROXY")


def proxy_to(target: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The proxy to `host:port`, and the variable that names it, as messages say it; None where
    there is none. The rules are those of gRPC, but that loopback is always reached without one:
    gRPC would ask the proxy of an office for it, too."""
    variable = next((name for name in _NAMES if environment.get(name)), None)
    if variable is None:
        return None
    try:
        given = urlsplit(environment[variable])
        host, port = given.hostname, given.port or 80
    except ValueError:
        return None
    service = target.rpartition(":")[0].strip("[]").lower()
    if given.scheme != "http" or not host:
        return None
    if _is_loopback(service) or _is_excepted(service, environment):
        return None
    return f"the proxy {host}:{port}, which {variable} names"


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_excepted(host: str, environment: Mapping[str, str]) -> bool:
    listed = next((environment[name] for name in _EXCEPT if environment.get(name)), "")
    entries = [entry.strip().lower() for entry in listed.split(",")]
    return "*" in entries or any(
        _matches(host, entry.removeprefix("*")) for entry in entries if entry
    )


def _matches(host: str, entry: str) -> bool:
    """Whether an entry is the end of a name, or a range that an address lies in."""
    if "/" in entry:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    return host.endswith(entry)
