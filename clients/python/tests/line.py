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
        self._listen("127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def swallow_answers(self) -> None:
        """From now on and until the line is cut, the service is heard no more."""
        self._swallows = True

    def refuse(self) -> None:
        """Ends all connections, and takes no more until `accept`."""
        _end(self._listener)
        self.cut()

    def accept(self) -> None:
        """Takes connections, at the address that the line has had before."""
        host, _, port = self.address.rpartition(":")
        self._listen(host, int(port))

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
        self.refuse()

    def _listen(self, host: str, port: int) -> None:
        self._listener = socket.create_server((host, port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._sockets |= {near, far}
            threading.Thread(target=self._pass_on, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(far, near, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        is_mute = False
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                # Behind a gap nothing may come of the answer, as a line keeps the order of bytes.
                is_mute = is_mute or (is_answer and self._swallows)
                if not is_mute:
                    target.sendall(data)
        _end(source)
        _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
