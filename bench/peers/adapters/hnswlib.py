"""hnswlib: HNSW on f32, compiled for the processor it runs on."""

import hnswlib


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.space = {"Euclidean": "l2", "Cosine": "ip"}[metric]
        self.m, self.ef_construction = m, ef_construction
        self.parameters = f"M={m}, ef_construction={ef_construction}, {storage}, -march=native"

    def build(self, base, threads):
        self.index = hnswlib.Index(space=self.space, dim=base.shape[1])
        self.index.init_index(len(base), M=self.m, ef_construction=self.ef_construction)
        self.index.add_items(base, num_threads=threads)

    def set_ef(self, ef):
        self.index.set_ef(ef)

    def search_batch(self, queries, k):
        rows, _ = self.index.knn_query(queries, k=k, num_threads=1)
        return rows
