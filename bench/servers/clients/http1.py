"""HTTP/1.1 over a connection that stays open."""

import re

from . import Refused
from .stream import HOST, Stream

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


def request(port, method, path, body=b""):
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: {HOST}:{port}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Http1:
    def __init__(self, port):
        self.stream = Stream(port)

    def call(self, request):
        """The body of the answer."""
        self.stream.send(request)
        head = self.stream.take_through(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = self.stream.take(int(length.group(1))) if length else b""
        # After "HTTP/1.1 " comes the status; all that is well begins with a 2.
        if head[9:10] != b"2":
            raise Refused(head[9:12].decode() + " " + body.decode(errors="replace"))
        if not length:
            raise Refused(f"an answer without a length: {head}")
        return body
