"""gRPC over HTTP/2 (RFC 9113): one connection, one call at a time."""

from struct import pack, unpack

from . import Refused
from .stream import HOST, Stream

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE = 1, 4

# Of the static table of HPACK (RFC 7541) what a call has of it, and where the other one begins.
STATIC = {(b":method", b"POST"): 3, (b":scheme", b"http"): 6}
FIRST_DYNAMIC = 62
# The size that every table begins with, and what an entry takes of it besides its text.
TABLE = 4096
ENTRY = 32

FRAME_HEAD = 9
MESSAGE_HEAD = 5
# The largest frame that any server takes, and the windows that a connection begins with.
MOST_IN_FRAME = 16_384
FIRST_WINDOW = 65_535
# No server has to wait for a window of this client, which never gives more than this first one: it
# is far more than what comes in over the life of a connection.
WINDOW = 2**31 - 1


def request(port, path, message, metadata=()):
    """A call: its headers and its body."""
    headers = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", f"{HOST}:{port}".encode()),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
        *((name.encode(), value.encode()) for name, value in metadata),
    )
    return headers, b"\x00" + pack(">I", len(message)) + message


def text(value):
    """A string of a header as it is, short enough for its length to be one byte."""
    if len(value) >= 127:
        raise ValueError(f"a header of {len(value)} bytes: expected less than 127")
    return bytes([len(value)]) + value


def frame(kind, flags, stream, payload=b""):
    return pack(">I", len(payload))[1:] + pack(">BBI", kind, flags, stream) + payload


class Headers:
    """Writes headers as the libraries of gRPC do: what was sent before is a number of the table that
    both sides keep. None leaves it again: a client of this kind has few headers.
    """

    def __init__(self):
        self.table = []
        self.blocks = {}

    def block(self, headers):
        known = self.blocks.get(headers)
        if known is not None:
            return known
        before = len(self.table)
        block = b"".join(map(self.field, headers))
        if len(self.table) > before:
            # The numbers of all others are higher now.
            self.blocks.clear()
        else:
            self.blocks[headers] = block
        return block

    def field(self, header):
        if header in STATIC:
            return bytes([0x80 + STATIC[header]])
        if header in self.table:
            return bytes([0x80 + FIRST_DYNAMIC + self.table.index(header)])
        self.table.insert(0, header)
        if sum(ENTRY + len(name) + len(value) for name, value in self.table) > TABLE:
            raise ValueError(f"the headers take more than the {TABLE} bytes of a table")
        name, value = header
        return b"\x40" + text(name) + text(value)


class Grpc:
    def __init__(self, port):
        self.stream = Stream(port)
        self.headers_sent = Headers()
        self.id = -1
        self.window = self.first_window = self.call_window = FIRST_WINDOW
        settings = pack(">HI", INITIAL_WINDOW_SIZE, WINDOW)
        self.stream.send(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + frame(SETTINGS, 0, 0, settings)
            + frame(WINDOW_UPDATE, 0, 0, pack(">I", WINDOW - FIRST_WINDOW))
        )

    def call(self, request):
        """The message that is answered."""
        headers, body = request
        block = self.headers_sent.block(headers)
        self.id += 2
        self.call_window = self.first_window
        self.parts, self.ended = [], False
        self.send(frame(HEADERS, END_HEADERS, self.id, block), body)
        while not self.ended:
            self.receive()
        answer = b"".join(self.parts)
        # A call that fails ends without a message.
        if len(answer) < MESSAGE_HEAD or answer[0] != 0:
            raise Refused(f"no message, but the headers {self.headers}")
        return answer[MESSAGE_HEAD:]

    def send(self, out, body):
        """Sends as much at a time as the windows of the server have room for."""
        start = 0
        while start < len(body) and not self.ended:
            room = min(len(body) - start, MOST_IN_FRAME, self.window, self.call_window)
            if room > 0:
                end = start + room
                flags = END_STREAM if end == len(body) else 0
                out += frame(DATA, flags, self.id, body[start:end])
                self.window -= room
                self.call_window -= room
                start = end
            else:
                self.stream.send(out)
                out = b""
                self.receive()
        self.stream.send(out)

    def receive(self):
        """Takes one frame in."""
        head = self.stream.take(FRAME_HEAD)
        payload = self.stream.take(int.from_bytes(head[:3], "big"))
        kind, flags = head[3], head[4]
        if kind == DATA:
            self.parts.append(payload)
            self.ended = bool(flags & END_STREAM)
        elif kind == HEADERS:
            self.headers = payload
            self.ended = bool(flags & END_STREAM)
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if head[5:] == b"\0\0\0\0":
                self.window += more
            else:
                self.call_window += more
        elif kind == SETTINGS and not flags & ACK:
            self.apply(payload)
        elif kind == PING and not flags & ACK:
            self.stream.send(frame(PING, ACK, 0, payload))
        elif kind in (RST_STREAM, GOAWAY):
            raise Refused(f"frame {kind} of HTTP/2: {payload}")

    def apply(self, settings):
        for start in range(0, len(settings), 6):
            name, value = unpack(">HI", settings[start : start + 6])
            if name == INITIAL_WINDOW_SIZE:
                self.call_window += value - self.first_window
                self.first_window = value
            elif name == HEADER_TABLE_SIZE and value < TABLE:
                raise Refused(f"a table of {value} bytes for headers: expected {TABLE} at least")
        self.stream.send(frame(SETTINGS, ACK, 0))
