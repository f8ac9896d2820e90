"""Proxies that the environment names."""

from __future__ import annotations

from typing import Any

import pytest

from vectord_client import ConnectionLostError
from vectord_client._core.proxy import proxy_to

NOWHERE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("target", "environment", "expected"),
    [
        ("a.example:1", {}, None),
        ("a.example:1", {"http_proxy": "http://u:p@proxy:3128"}, "proxy proxy:3128, which http_pr"),
        ("a.example:1", {"https_proxy": "http://p", "http_proxy": "http://q"}, "p:80, which https"),
        ("a.example:1", {"grpc_proxy": "http://p:1", "https_proxy": "http://q"}, "p:1, which grpc"),
        ("a.example:1", {"http_proxy": "https://p:1"}, None),
        ("a.example:1", {"http_proxy": "http://p:x"}, None),
        ("localhost:1", {"http_proxy": NOWHERE}, None),
        ("127.0.0.9:1", {"http_proxy": NOWHERE}, None),
        ("[::1]:1", {"http_proxy": NOWHERE}, None),
        ("a.example:1", {"http_proxy": NOWHERE, "no_proxy": "b, .example"}, None),
        ("a.example:1", {"http_proxy": NOWHERE, "NO_PROXY": "*.example"}, None),
        ("a.example:1", {"http_proxy": NOWHERE, "no_proxy": "*"}, None),
        ("10.1.2.3:1", {"http_proxy": NOWHERE, "no_proxy": "10.0.0.0/8"}, None),
        ("11.1.2.3:1", {"http_proxy": NOWHERE, "no_proxy": ",10.0.0.0/8,"}, "127.0.0.1:1, which"),
    ],
)
def test_a_proxy_stands_before_what_is_neither_loopback_nor_excepted(
    target: str, environment: dict[str, str], expected: str | None
) -> None:
    found = proxy_to(target, environment)
    assert found is None if expected is None else found is not None and expected in found


async def test_loopback_is_reached_without_the_proxy(
    services: Any, address: str, empty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", NOWHERE)
    monkeypatch.setenv("https_proxy", NOWHERE)
    port = address.rpartition(":")[2]
    for form in (address, f"grpc://localhost:{port}"):
        assert await services.open(form, retries=0).count() == 0


async def test_a_proxy_that_is_used_is_named(
    services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:1")
    client = services.open("vectord.invalid:50051", retries=0)
    expected = r"through the proxy 127\.0\.0\.1:1, which http_proxy names; no_proxy names hosts"
    with pytest.raises(ConnectionLostError, match=expected) as raised:
        await client.count()
    assert "secret" not in str(raised.value)
