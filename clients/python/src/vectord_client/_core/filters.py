"""Filters as the messages that mean the same. What cannot be sent is an InvalidArgumentError that
names its place; the service says what breaks a rule besides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._generated import points_pb2 as wire
from ..errors import InvalidArgumentError, invalid
from ..models import Filter
from .values import instead_of, is_unicode

# Operators, and the fields of a Condition that stand for them.
_OF_A_VALUE = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_OF_A_LIST = {"$in": "any_of", "$nin": "none_of"}
_OPERATORS = (*_OF_A_VALUE, *_OF_A_LIST, "$exists")

_GROUPS = ("$and", "$or", "$not")
_FIELDS = ("$id", "$content_type")

# How many of `$and`, `$or` and `$not` may lie within each other.
_MAX_DEPTH = 16

_VALUE = "a text, a bool or a finite number"


def filter_of(given: Filter, name: str) -> wire.Filter:
    """The message that a filter is.

    Raises:
        InvalidArgumentError: It cannot be sent; `name` is what it is called.
    """
    return _filter(given, name, 0)


def _filter(given: object, name: str, depth: int) -> wire.Filter:
    if not isinstance(given, Mapping):
        raise _wrong(name, given, "a filter, which is a mapping")
    if depth > _MAX_DEPTH:
        raise invalid(
            f"{name} is a filter, expected at most {_MAX_DEPTH} of $and, $or and $not within "
            "each other"
        )
    parts = [
        part
        for key, value, place in _members(given, name)
        for part in _parts(key, value, place, depth + 1)
    ]
    if len(parts) == 1:
        return parts[0]
    # A message without a field passes every point, as a mapping without a member does.
    return wire.Filter(all=wire.FilterList(filters=parts)) if parts else wire.Filter()


def _parts(key: str, value: object, name: str, depth: int) -> Iterator[wire.Filter]:
    """What one member of a filter asks for; all of it has to hold."""
    if key == "$and":
        yield wire.Filter(all=_filters(value, name, depth))
    elif key == "$or":
        yield wire.Filter(any=_filters(value, name, depth))
    elif key == "$not":
        yield wire.Filter(negated=_filter(value, name, depth))
    elif key.startswith("$") and key not in _FIELDS:
        raise _wrong(name, key, f"one of {', '.join((*_GROUPS, *_FIELDS))}")
    else:
        for test in _tests(value, name):
            yield wire.Filter(condition=wire.Condition(field=key, **test))


def _filters(given: object, name: str, depth: int) -> wire.FilterList:
    items = _list(given, name)
    if not items:
        raise invalid(f"{name} is empty, expected a list of at least one filter")
    filters = [_filter(item, f"{name}[{index}]", depth) for index, item in enumerate(items)]
    return wire.FilterList(filters=filters)


def _tests(given: object, name: str) -> Iterator[dict[str, Any]]:
    """What a field has to be: for each operator the field of a Condition."""
    if not isinstance(given, Mapping):
        yield {"eq": _value(given, name)}
        return
    if not given:
        raise invalid(f"{name} is empty, expected a value or operators")
    for operator, operand, place in _members(given, name):
        if operator in _OF_A_VALUE:
            yield {_OF_A_VALUE[operator]: _value(operand, place)}
        elif operator in _OF_A_LIST:
            items = enumerate(_list(operand, place))
            values = [_value(item, f"{place}[{index}]") for index, item in items]
            yield {_OF_A_LIST[operator]: wire.FilterValues(values=values)}
        elif operator == "$exists":
            if not isinstance(operand, bool | np.bool_):
                raise _wrong(place, operand, "True or False")
            yield {"exists": bool(operand)}
        else:
            raise _wrong(place, operator, f"one of {', '.join(_OPERATORS)}")


def _value(given: object, name: str) -> wire.FilterValue:
    if isinstance(given, str):
        if not is_unicode(given):
            raise invalid(f"{name} has a half of a surrogate pair, expected Unicode")
        return wire.FilterValue(text=given)
    if isinstance(given, bool | np.bool_):
        return wire.FilterValue(boolean=bool(given))
    if isinstance(given, int | float | np.integer | np.floating):
        return wire.FilterValue(number=_number(given, name))
    raise _wrong(name, given, _VALUE)


def _number(given: int | float | np.integer | np.floating, name: str) -> float:
    try:
        number = float(given)
    except OverflowError as error:
        raise invalid(f"{name} is beyond the range of a float, expected {_VALUE}") from error
    if not math.isfinite(number):
        raise _wrong(name, number, _VALUE)
    if isinstance(given, int | np.integer) and int(number) != int(given):
        raise invalid(f"{name} is {given}, which no float has exactly, expected {_VALUE}")
    return number


def _list(given: object, name: str) -> Sequence[object]:
    if isinstance(given, list | tuple):
        return given
    raise _wrong(name, given, "a list")


def _members(given: Mapping[Any, object], name: str) -> Iterator[tuple[str, object, str]]:
    """The members of a mapping, each with what messages call it."""
    for key, value in given.items():
        if not isinstance(key, str) or not is_unicode(key):
            raise invalid(f"{name} has the key {key!r}, expected a text")
        yield key, value, f"{name}.{key}"


def _wrong(name: str, found: object, expected: str) -> InvalidArgumentError:
    """The error for what is found in the place of something else, on a line of bounded length."""
    if isinstance(found, str):
        found = found if len(found) <= 64 else f"{found[:64]}..."
    elif found is not None and not isinstance(found, bool | float):
        kind = type(found).__name__
        return invalid(f"{name} is of the type {kind}, expected {expected}{instead_of(found)}")
    return invalid(f"{name} is {found!r}, expected {expected}")
