"""Ids of points for those who have ids of their own."""

from uuid import UUID, uuid5

from ._core.values import is_unicode
from .errors import invalid

# Every client of vectord has this namespace: the same text has the same id in all of them.
_NAMESPACE = UUID("1f798449-f176-40ab-9cbe-569099033734")


def id_for(text: str) -> str:
    """The id of a point for a text of your own, such as a path, an address or a number in a table.

    The same text has the same id always and in every client of vectord, so that a load that is
    repeated replaces its points and stores none twice.

    Args:
        text: Any Unicode text, the empty one too.

    Returns:
        A UUID of version 5, in lower case.

    Raises:
        InvalidArgumentError: It is no text.
    """
    if not isinstance(text, str):
        raise invalid(f"text is {text!r}, expected a text")
    if not is_unicode(text):
        raise invalid("text has a half of a surrogate pair, expected Unicode")
    return str(uuid5(_NAMESPACE, text))
