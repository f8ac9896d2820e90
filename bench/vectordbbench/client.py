"""vectord as a database of VectorDBBench."""

import time
from contextlib import contextmanager

from pydantic import BaseModel, SecretStr
from vectord_client import Client, GraphState, NewPoint, Similarity
from vectordb_bench.backend.clients.api import DBCaseConfig, DBConfig, MetricType, VectorDB

SIMILARITIES = {MetricType.COSINE: Similarity.COSINE, MetricType.L2: Similarity.EUCLIDEAN}
LOOK_SECONDS = 0.1


class VectordConfig(DBConfig):
    address: str
    key: SecretStr

    def to_dict(self):
        return {"address": self.address, "key": self.key.get_secret_value()}


class VectordCaseConfig(BaseModel, DBCaseConfig):
    metric_type: MetricType

    def index_param(self):
        return {}

    def search_param(self):
        return {"similarity": SIMILARITIES[self.metric_type]}


class Vectord(VectorDB):
    name = "vectord"

    def __init__(self, dim, db_config, db_case_config, drop_old=False, **_):
        self.dimension, self.db_config = dim, db_config
        self.search_param = db_case_config.search_param()
        if drop_old:
            with self.init():
                self.client.delete_all(self.client.count())

    @contextmanager
    def init(self):
        with Client(**self.db_config) as self.client:
            yield
        # The object goes to other processes, and a connection cannot.
        del self.client

    def insert_embeddings(self, embeddings, metadata, **_):
        self.client.upsert(
            NewPoint(vector, f"00000000-0000-4000-8000-{row:012x}")
            for vector, row in zip(embeddings, metadata)
        )
        return len(metadata), None

    def search_embedding(self, query, k=100, **_):
        found = self.client.search(query, limit=k, include=[], **self.search_param)
        return [int(point.id[-12:], 16) for point in found]

    def optimize(self, data_size=None):
        """Waits until the graph holds all points. A search begins it where that is still to do."""
        while not any(self.is_whole(graph) for graph in self.client.info().graphs):
            self.search_embedding([1.0] * self.dimension)
            time.sleep(LOOK_SECONDS)

    def is_whole(self, graph):
        return (
            graph.similarity == self.search_param["similarity"]
            and graph.state == GraphState.READY
            and graph.linked == graph.slots
        )
