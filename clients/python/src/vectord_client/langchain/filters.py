"""Filters on documents as filters on the points that keep them.

Metadata that the service takes as they are can be asked for; `documents` says which these are. What
is kept as JSON text is not there to a filter: `$ne`, `$nin`, `$not` and `{"$exists": False}` pass
it. An int beyond 2^53, which is always kept so, is refused, and so are the two names that the store
keeps to itself. `$id` is the id of the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._core.filters import filter_of
from ..errors import invalid
from ..models import Filter
from .documents import GREATEST_WHOLE, ID_KEY, REST_KEY, point_id_of


def filter_on_points(given: Filter) -> Filter:
    """The filter that points have to pass for their documents to pass this one.

    Raises:
        InvalidArgumentError: It is no filter, or asks for what no filter finds; the message names
            the place.
    """
    # Refuses what is no filter, so that below there is nothing else.
    filter_of(given, "filter")
    return _filter(given, "filter")


def _filter(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: _member(key, value, f"{name}.{key}") for key, value in given.items()}


def _member(key: str, value: Any, name: str) -> Any:  # noqa: ANN401 -- whatever a filter has
    if key == "$not":
        return _filter(value, name)
    if key in ("$and", "$or"):
        return [_filter(item, f"{name}[{index}]") for index, item in enumerate(value)]
    if key in (ID_KEY, REST_KEY):
        raise invalid(f"{name} is a name that the store keeps to itself, expected $id or others")
    if isinstance(value, Mapping):
        return {operator: _operand(key, it, f"{name}.{operator}") for operator, it in value.items()}
    return _operand(key, value, name)


def _operand(key: str, given: Any, name: str) -> Any:  # noqa: ANN401 -- whatever a filter has
    if isinstance(given, list | tuple):
        return [_operand(key, item, f"{name}[{index}]") for index, item in enumerate(given)]
    if key == "$id" and isinstance(given, str):
        return point_id_of(given)
    if isinstance(given, int | np.integer) and abs(int(given)) > GREATEST_WHOLE:
        raise invalid(
            f"{name} is an int beyond 2^53, which is kept as text that no filter finds, "
            "expected a float or an int within it"
        )
    return given
