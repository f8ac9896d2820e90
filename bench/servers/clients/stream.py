"""Bytes from a socket, in pieces as long as the protocol says."""

import socket
from struct import pack

HOST = "127.0.0.1"
CHUNK = 1 << 18
# Of an answer that does not come. The system counts it: a timeout of Python's would cost a call.
MOST_SECONDS = 900


class Stream:
    def __init__(self, port):
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, pack("ll", MOST_SECONDS, 0))
        self.send = self.socket.sendall
        self.input, self.position = b"", 0

    def take(self, count):
        while len(self.input) - self.position < count:
            self.more()
        start, self.position = self.position, self.position + count
        return self.input[start : self.position]

    def take_through(self, end):
        while (found := self.input.find(end, self.position)) < 0:
            self.more()
        return self.take(found + len(end) - self.position)

    def more(self):
        chunk = self.socket.recv(CHUNK)
        if not chunk:
            raise ConnectionError("the server has closed the connection")
        self.input, self.position = self.input[self.position :] + chunk, 0
