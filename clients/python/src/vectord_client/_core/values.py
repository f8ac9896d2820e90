"""Values of Python that neither metadata nor filters have."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from uuid import UUID

import numpy as np

# What to write in place of a value of these types. A datetime is a date, too.
_INSTEAD: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((np.datetime64, np.timedelta64), "str() of it as a text"),
    (datetime, "its timestamp() as a number, or its isoformat() as a text"),
    ((date, time), "its isoformat() as a text"),
    (timedelta, "its total_seconds() as a number"),
    (Decimal, "float() of it as a number, or str() of it as a text"),
    ((UUID, PurePath), "str() of it as a text"),
    ((set, frozenset), "a list of its items"),
    ((bytes, bytearray), "a text, such as its hex()"),
    (Enum, "its value"),
)


def instead_of(value: object) -> str:
    """What messages say to write in place of a value, after a colon; empty for other types."""
    for kinds, instead in _INSTEAD:
        if isinstance(value, kinds):
            return f": write {instead}"
    return ""


def is_unicode(text: str) -> bool:
    """Whether a text is Unicode: one with a lone half of a surrogate pair is not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
