"""Arrays of numbers, whatever they are given as."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import invalid

# As a vector has them on the wire: little-endian, 4 bytes each.
FLOATS = np.dtype("<f4")

# Booleans, whole numbers with and without a sign, and floats, of any size.
_REAL_KINDS = "biuf"


def floats_of(given: npt.ArrayLike, name: str) -> npt.NDArray[np.float32]:
    """What is given as an array of the same shape with float32 values; it is given itself where it
    is one.

    Raises:
        InvalidArgumentError: It is no array, or its values are no real numbers; `name` is what it
            is called.
    """
    try:
        values = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise invalid(f"{name} is no array of numbers: {error}") from error
    if values.dtype.kind not in _REAL_KINDS:
        raise invalid(f"{name} has the dtype {values.dtype}, expected real numbers or booleans")
    return values.astype(FLOATS, copy=False)
