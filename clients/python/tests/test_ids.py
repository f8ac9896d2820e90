"""Ids made of texts."""

from __future__ import annotations

import pytest

from vectord_client import id_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "5541bb9a-ded7-5469-8d2a-6df5c31c037a"),
        ("1", "cefe3317-d92e-5a9e-870c-523bdeb8d92d"),
        ("docs/é.md", "f59ec731-e895-5def-919f-a83b7ff9e4a3"),
    ],
)
def test_a_text_has_the_same_id_always_and_in_every_client(text: str, expected: str) -> None:
    assert id_for(text) == expected
