"""Qdrant Edge: HNSW on f32, with an index of the number that filters ask for."""

from tempfile import TemporaryDirectory

import numpy
import qdrant_edge as qdrant
from filters import FIELD, number

# Points in an update.
BATCH = 1_000
# Of vectors, in KiB. It is far less than by itself, so that a short run has a graph too.
GRAPH_FROM = 10
# Fewer KiB of vectors that pass are scanned, as it comes; next to none for "walk" and "acorn".
SCAN_BELOW, SCAN_NONE = 10_000, 10


class Index:
    def __init__(self, metric, m, ef_construction, storage):
        self.metric = {"Euclidean": qdrant.Distance.Euclid, "Cosine": qdrant.Distance.Cosine}[metric]
        self.m, self.ef_construction = m, ef_construction
        self.acorn = qdrant.AcornSearchParams(enable=True) if storage == "acorn" else None
        self.scan_below = SCAN_NONE if storage in ("walk", "acorn") else SCAN_BELOW
        self.parameters = f"m={m}, ef_construct={ef_construction}, an integer index, {storage}"
        self.evaluations = None
        self.bound = 0
        self.made_for = None

    def build(self, base, threads):
        self.folder = TemporaryDirectory(prefix="vectord-peers-")
        config = qdrant.EdgeConfig(
            vectors=qdrant.EdgeVectorParams(base.shape[1], self.metric),
            hnsw_config=qdrant.HnswIndexConfig(self.m, self.ef_construction, self.scan_below),
            optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=GRAPH_FROM),
        )
        self.shard = qdrant.EdgeShard.create(self.folder.name, config)
        # Before the graph, which then has links among the points of a filter.
        update = qdrant.UpdateOperation.create_field_index
        self.shard.update(update(FIELD, qdrant.PayloadSchemaType.Integer))
        for first in range(0, len(base), BATCH):
            points = [
                qdrant.Point(row, vector.tolist(), {FIELD: number(row)})
                for row, vector in enumerate(base[first : first + BATCH], first)
            ]
            self.shard.update(qdrant.UpdateOperation.upsert_points(points))
        self.shard.optimize()

    def set_ef(self, ef):
        self.ef = ef

    def set_filter(self, bound):
        self.bound = bound

    def search_batch(self, queries, k):
        # The first pass over the queries alone pays for making them.
        if self.made_for != (self.ef, self.bound, k):
            self.requests = [self.request(query, k) for query in queries]
            self.made_for = self.ef, self.bound, k
        found = numpy.full((len(queries), k), -1)
        for row, request in zip(found, self.requests):
            points = self.shard.query(request)
            row[: len(points)] = [point.id for point in points]
        return found

    def request(self, query, k):
        below = qdrant.FieldCondition(FIELD, range=qdrant.RangeFloat(lt=self.bound))
        return qdrant.QueryRequest(
            limit=k,
            query=qdrant.Query.Nearest(query.tolist()),
            filter=qdrant.Filter(must=[below]) if self.bound else None,
            params=qdrant.SearchParams(hnsw_ef=self.ef, acorn=self.acorn),
        )
