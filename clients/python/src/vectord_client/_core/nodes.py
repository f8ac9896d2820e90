"""Which of several nodes of a service is asked."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from ..errors import ConnectionLostError, UnavailableError, VectordError, error_of


class Nodes:
    """All calls go to the present one; where it has no answer, the next try of each goes to the
    next node, and so do all calls from then on."""

    def __init__(self, proxies: Sequence[str | None]) -> None:
        """`proxies` has the one to each node, see `proxy_to`."""
        self._proxies = proxies
        self.present = 0

    def error_at(self, node: int, failure: grpc.RpcError, is_closed: bool) -> VectordError:
        """The error that a call of this node has failed with, see `error_of`; leaves the node if
        another may answer."""
        error = error_of(failure, is_closed, self._proxies[node])
        # Another call may have left it already.
        if isinstance(error, ConnectionLostError | UnavailableError) and node == self.present:
            self.present = (node + 1) % len(self._proxies)
        return error
