"""PostgreSQL's protocol, version 3, with results in binary form."""

from struct import pack, unpack

from . import Refused
from .stream import Stream

VERSION = 3 << 16
HEAD = 5
BINARY = 1


def message(kind, body=b""):
    return kind + pack(">I", len(body) + 4) + body


def query(statement):
    return message(b"Q", statement.encode() + b"\0")


def parse(name, statement):
    """Prepares a statement whose parameters have the types that their places ask for."""
    body = name.encode() + b"\0" + statement.encode() + b"\0" + pack(">H", 0)
    return message(b"P", body) + SYNC


def execute(name, parameter):
    """One run of a prepared statement with one parameter, all in binary form."""
    bind = b"\0" + name.encode() + b"\0" + pack(">HHHI", 1, BINARY, 1, len(parameter)) + parameter
    return message(b"B", bind + pack(">HH", 1, BINARY)) + message(b"E", b"\0" + pack(">I", 0))


SYNC = message(b"S")


def columns(row):
    """The values of a row in binary form; a row must have no nulls."""
    at = 2
    while at < len(row):
        start = at + 4
        at = start + unpack(">I", row[at:start])[0]
        yield row[start:at]


class Postgres:
    def __init__(self, port, user, setup=()):
        self.stream = Stream(port)
        options = f"user\0{user}\0database\0postgres\0\0".encode()
        self.call(pack(">II", len(options) + 8, VERSION) + options)
        for one in setup:
            self.call(one)

    def call(self, request):
        """A list of rows for each statement that was run, until the server is ready again."""
        self.stream.send(request)
        take = self.stream.take
        results, rows, failure = [], [], None
        while True:
            head = take(HEAD)
            body = take(unpack(">I", head[1:])[0] - 4)
            kind = head[:1]
            if kind == b"D":
                rows.append(body)
            elif kind == b"C":
                results.append(rows)
                rows = []
            elif kind == b"E":
                failure = body.replace(b"\0", b" ").decode(errors="replace")
            elif kind == b"Z":
                if failure:
                    raise Refused(failure)
                return results
