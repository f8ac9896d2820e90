"""Which of several nodes of a service is asked."""

from __future__ import annotations

import grpc

from ..errors import ConnectionLostError, UnavailableError, VectordError, error_of


class Nodes:
    """All calls go to the present one; where it has no answer, the next try of each goes to the
    next node, and so do all calls from then on."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.present = 0

    def error_at(self, node: int, failure: grpc.RpcError, is_closed: bool) -> VectordError:
        """The error that a call of this node has failed with, see `error_of`; leaves the node if
        another may answer."""
        error = error_of(failure, is_closed)
        # Another call may have left it already.
        if isinstance(error, ConnectionLostError | UnavailableError) and node == self.present:
            self.present = (node + 1) % self._count
        return error
