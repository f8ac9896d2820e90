"""Qdrant Edge, within a process of its own that also has the callers: see ../qdrant_process.py."""

import sys
import time
from importlib.metadata import version
from multiprocessing.connection import Client
from pathlib import Path

from clients import Refused
from payload import carried, content
from server import EF_CONSTRUCTION, M, Server
from sets import K

PACKAGE = "qdrant-edge-py"
PROGRAM = Path(__file__).parents[1] / "qdrant_process.py"
# Of vectors. It is far less than by itself, so that a short run has a graph too.
GRAPH_FROM = 10


class QdrantEdge(Server):
    title = "qdrant-edge"
    client = "calls within its process, a thread for each connection; in its favour, no network"
    setting = f"m={M}, ef_construct={EF_CONSTRUCTION}, Euclid, a graph from {GRAPH_FROM} KiB on"
    BATCH, LOADERS = 1_000, 1
    payload = True

    @staticmethod
    def versions():
        return f"Qdrant Edge of {PACKAGE} {version(PACKAGE)}"

    def prepare(self):
        self.socket = self.folder / "socket"

    def command(self):
        return [sys.executable, PROGRAM, self.socket, self.data]

    def create(self):
        self.connect().call(("create", self.dimension, M, EF_CONSTRUCTION, GRAPH_FROM))

    def connect(self):
        return Connection(self.socket)

    def insert(self, rows, vectors):
        return "insert", [
            (row, vector.tolist(), {"content": content(row)}) for row, vector in zip(rows, vectors)
        ]

    insert_one = search_batch = None

    def index(self):
        self.connect().call(("index",))
        return time.monotonic()

    def search(self, query):
        return "search", query.tolist(), K, self.ef, self.payload

    def crew(self, *slice_of_seconds):
        """The callers, which are threads beside the shard."""
        connection = self.connect()
        connection.send(("searches", *slice_of_seconds))
        return connection

    def found(self, answer):
        rows = [row for row, _ in answer]
        return carried(rows, (text.encode() for _, text in answer)) if self.payload else rows


class Connection:
    """To the process, for what is outside the slices."""

    def __init__(self, socket):
        self.pipe = Client(str(socket), "AF_UNIX")
        self.send = self.pipe.send

    def call(self, request):
        self.send(request)
        return self.results()

    def results(self):
        try:
            answer = self.pipe.recv()
        except EOFError:
            raise Refused("its process has ended")
        if isinstance(answer, Exception):
            raise Refused(str(answer))
        return answer
