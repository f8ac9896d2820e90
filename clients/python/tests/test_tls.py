"""TLS: the client knows the service by its certificate, and the service the client."""

from __future__ import annotations

import os
from typing import Any

import pytest

from vectord_client import ConnectionLostError, NewPoint, Tls


async def test_a_service_is_used_over_tls(services: Any, tls_address: str, tls: Tls) -> None:
    client = services.open(tls_address, tls=tls)
    before = await client.count()
    upserted = await client.upsert([NewPoint([1, 2, 3, 4])])
    assert await client.count() == before + 1
    await client.delete(upserted.ids)


async def test_a_client_without_its_certificate_is_refused(
    services: Any, tls_address: str, tls: Tls
) -> None:
    client = services.open(tls_address, tls=Tls(tls.root_certificates), retries=0)
    with pytest.raises(ConnectionLostError):
        await client.count()


async def test_a_service_that_is_not_trusted_is_refused(
    services: Any, tls_address: str, tls: Tls
) -> None:
    stranger = Tls(None, tls.client_certificate, tls.client_key)
    client = services.open(tls_address, tls=stranger, retries=0)
    with pytest.raises(ConnectionLostError):
        await client.count()


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(ValueError, match="client_certificate and client_key"):
        Tls.from_files(client_certificate=os.environ["VECTORD_TLS_CERT"])
