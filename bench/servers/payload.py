"""Points that carry a content, and servers that are asked for it."""

from hashlib import shake_256

CONTENT_BYTES = 1_024


def content(row):
    """The text of a point: hexadecimal digits, other ones for each point."""
    return shake_256(str(row).encode()).hexdigest(CONTENT_BYTES // 2)


def carried(rows, contents):
    """The rows that were found, with -1 in place of a row whose own content did not come."""
    return [row if text == content(row).encode() else -1 for row, text in zip(rows, contents)]


class WithPayload:
    """Of a server whose points have a content each. While `payload` is set, a search asks for the
    distances and the contents, which `contents(answer)` takes out; otherwise for the ids alone.
    """

    payload = True

    def found(self, answer):
        rows = super().found(answer)
        return carried(rows, self.contents(answer)) if self.payload else rows
