"""Ids made of texts."""

from __future__ import annotations

import pytest

from vectord_client import id_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "696a1125-599e-56b1-8beb-cdc2adc1f675"),
        ("1", "71c755cc-74b5-5445-a35b-1f8038daff86"),
        ("docs/é.md", "578e084d-85f5-50ce-80cb-9234c2152cf5"),
    ],
)
def test_a_text_has_the_same_id_always_and_in_every_client(text: str, expected: str) -> None:
    assert id_for(text) == expected


@pytest.mark.parametrize("wrong", [5, None, b"1"])
def test_what_is_no_text_is_a_value_error(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"text is .*, expected a text"):
        id_for(wrong)
