"""RESP2, the protocol of Redis: commands, alone or in a pipeline."""

from . import Refused
from .stream import Stream

END = b"\r\n"


def command(*words):
    """A command whose words are bytes or are written as text."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(one), one) for one in encoded)


def pipeline(commands):
    """A request: all commands at once, and how many replies they get."""
    return b"".join(commands), len(commands)


class Resp:
    def __init__(self, port):
        self.stream = Stream(port)

    def call(self, request):
        """The replies, one for each command."""
        commands, count = request
        self.stream.send(commands)
        return [self.reply() for _ in range(count)]

    def reply(self):
        line = self.stream.take_through(END)
        kind, value = line[:1], line[1 : -len(END)]
        if kind == b"*":
            return [self.reply() for _ in range(int(value))]
        if kind == b"$":
            return self.stream.take(int(value) + len(END))[: -len(END)]
        if kind == b"-":
            raise Refused(value.decode(errors="replace"))
        return value
