"""A process with a shard of Qdrant Edge and the threads that search it: SOCKET FOLDER.

What it is asked for over the socket are names of methods of `Shard` with their arguments. A slice
of searches runs within this process, so that nothing of the socket is in its figures.
"""

import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Listener
from threading import Thread

import qdrant_edge as qdrant

from crew import closed_loop


class Shard:
    def __init__(self, folder):
        self.folder = folder

    def create(self, dimension, m, ef_construction, graph_from):
        os.makedirs(self.folder)
        config = qdrant.EdgeConfig(
            vectors=qdrant.EdgeVectorParams(dimension, qdrant.Distance.Euclid),
            hnsw_config=qdrant.HnswIndexConfig(m, ef_construction, graph_from),
            optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=graph_from),
        )
        self.shard = qdrant.EdgeShard.create(self.folder, config)
        self.call = self.shard.query

    def insert(self, points):
        points = [qdrant.Point(*point) for point in points]
        self.shard.update(qdrant.UpdateOperation.upsert_points(points))

    def index(self):
        self.shard.optimize()

    def search(self, *request):
        return plain(self.call(query(*request)))

    def connect(self):
        """A thread needs no connection: its calls are those of the shard."""
        return self

    def searches(self, requests, connections, start, end, cycle):
        """Closed loops in threads. All that they use is the processor time of this process."""
        queries = [query(*request) for _, *request in requests]
        firsts = [number * len(queries) // connections for number in range(connections)]
        gc.disable()
        with ThreadPoolExecutor(connections) as threads:
            loops = [
                threads.submit(closed_loop, self, queries, first, start, end, cycle)
                for first in firsts
            ]
        gc.enable()
        found = [loop.result() for loop in loops]
        for one in found:
            one["cpu"] = 0.0
            one["last"] = {index: plain(points) for index, points in one["last"].items()}
        return found


def query(vector, limit, ef, payload):
    return qdrant.QueryRequest(
        limit=limit,
        query=qdrant.Query.Nearest(vector),
        with_payload=payload,
        params=qdrant.SearchParams(hnsw_ef=ef),
    )


def plain(points):
    """Identifiers, and contents where there are any, as they go through a socket."""
    return [(point.id, (point.payload or {}).get("content", "")) for point in points]


def serve(shard, connection):
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = getattr(shard, method)(*arguments)
        except Exception as failure:
            answer = RuntimeError(f"{type(failure).__name__}: {failure}")
        connection.send(answer)


def main(socket, folder):
    shard = Shard(folder)
    with Listener(socket, "AF_UNIX") as listener:
        while True:
            Thread(target=serve, args=(shard, listener.accept()), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
