"""Clients that cost as little as a client can, so that the servers have the processors: a blocking
socket for each connection, requests that were encoded beforehand, and answers that are only taken
apart as far as it takes to see where they end. All have one method:

    call(request)  sends a request, waits for its answer and gives it undecoded

An answer that is an error raises Refused.
"""


class Refused(Exception):
    """What a server has answered in place of a result."""
