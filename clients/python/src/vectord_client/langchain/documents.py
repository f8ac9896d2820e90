"""Documents of LangChain as points, and points as documents.

Ids: a UUID is the id of its point, in lower case; every other text has the id that `id_for` makes
of it. Where the document's id is not just that of the point, it is kept in the metadata, under
`_vectord_id`.

Metadata: a member that the service takes is kept as it is. Others (nested objects, lists of several
kinds, whole numbers beyond 2^53, keys that begin with `$`, or that are one of the two names of this
page) are kept together as JSON text under `_vectord_metadata`. Both names are left out of the
documents that come back, whose metadata is as it was; a tuple comes back as a list.

Other clients may write anything under these two names. An id that is no text, and metadata that are
no JSON object as text, are metadata like any others, and the document has them under those names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from langchain_core.documents import Document

from .._core.values import is_unicode
from ..errors import invalid
from ..ids import id_for
from ..models import MetadataValue, NewPoint, Point, VectorLike

ID_KEY = "_vectord_id"
REST_KEY = "_vectord_metadata"

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NIL = "00000000-0000-0000-0000-000000000000"
GREATEST_WHOLE = 2**53


def point_id_of(document_id: str) -> str:
    """The id of the point that keeps a document. Raises an InvalidArgumentError for what is no
    text."""
    if not isinstance(document_id, str):
        raise invalid(f"the id of a document is {document_id!r}, expected a text")
    is_usable = _UUID.fullmatch(document_id) is not None and document_id != _NIL
    return document_id.lower() if is_usable else id_for(document_id)


def to_point(
    document_id: str, text: str, metadata: Mapping[str, Any], vector: VectorLike
) -> NewPoint:
    """The point that keeps a document.

    Args:
        document_id: Any text.
        text: The content of the page.
        metadata: What JSON has. The service takes up to 64 KiB of it, as it is kept.
        vector: Shape (dimension,).

    Raises:
        InvalidArgumentError: The metadata holds what JSON does not have.
    """
    point_id = point_id_of(document_id)
    kept: dict[str, MetadataValue] = {}
    rest: dict[str, Any] = {}
    for key, given in metadata.items():
        value = given.tolist() if isinstance(given, np.generic | np.ndarray) else given
        if _is_key(key) and _is_value(value):
            kept[key] = value
        else:
            rest[key] = value
    if rest:
        kept[REST_KEY] = _json_of(rest)
    if point_id != document_id:
        kept[ID_KEY] = document_id
    return NewPoint(vector=vector, id=point_id, content=text, metadata=kept or None)


def to_document(point: Point) -> Document:
    """The document of a point that was read with its content and metadata."""
    metadata: dict[str, Any] = dict(point.metadata or {})
    document_id = point.id
    if isinstance(metadata.get(ID_KEY), str):
        document_id = metadata.pop(ID_KEY)
    rest = _object_of(metadata.get(REST_KEY))
    if rest is not None:
        del metadata[REST_KEY]
        metadata.update(rest)
    return Document(id=document_id, page_content=point.content or "", metadata=metadata)


def _is_key(key: object) -> bool:
    is_plain = isinstance(key, str) and not key.startswith("$") and is_unicode(key)
    return is_plain and key not in (ID_KEY, REST_KEY)


def _is_value(value: object) -> bool:
    """Whether the service takes this value as it is."""
    if isinstance(value, list | tuple):
        kinds = {_kind(item) for item in value}
        return len(kinds) <= 1 and None not in kinds
    return value is None or _kind(value) is not None


def _kind(value: object) -> type | None:
    """The kind of a scalar, which all items of a list have; None for what is no scalar."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return float if abs(value) <= GREATEST_WHOLE else None
    if isinstance(value, float):
        return float if math.isfinite(value) else None
    return str if isinstance(value, str) and is_unicode(value) else None


def _json_of(rest: dict[str, Any]) -> str:
    for key, value in rest.items():
        _check_key(key, "metadata")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise invalid(f"metadata.{key} cannot be kept as JSON: {error}") from error
        _check_keys(value, f"metadata.{key}")
    return json.dumps(rest, separators=(",", ":"))


def _check_keys(value: object, name: str) -> None:
    """Refuses keys inside a value that JSON would turn into texts. JSON has it: it has an end."""
    inner = [value]
    while inner:
        it = inner.pop()
        if isinstance(it, dict):
            for key in it:
                _check_key(key, name)
            inner += it.values()
        elif isinstance(it, list | tuple):
            inner += it


def _check_key(key: object, name: str) -> None:
    if not isinstance(key, str):
        raise invalid(f"{name} has the key {key!r}, expected a text")


def _object_of(text: object) -> dict[str, Any] | None:
    """The object that a JSON text is; None for what is no such text."""
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
