"""A TCP line to a service that can break in the ways in which lines do."""

from __future__ import annotations

import contextlib
import socket
import threading


class Line:
    """Passes bytes on between clients and a service."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._swallows = False
        self.connections = 0
        """How many there have been."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow_answers(self) -> None:
        """From now on and until the line is cut, the service is heard no more."""
        self._swallows = True

    def cut(self) -> int:
        """Ends all connections; new ones are whole. Answers how many were ended."""
        with self._lock:
            self._swallows = False
            ended = list(self._sockets)
            self._sockets.clear()
        for one in ended:
            _end(one)
        return len(ended) // 2

    def close(self) -> None:
        """Ends the line for good."""
        _end(self._listener)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._sockets |= {near, far}
            threading.Thread(target=self._pass_on, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(far, near, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not (is_answer and self._swallows):
                    target.sendall(data)
        _end(source)
        _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
