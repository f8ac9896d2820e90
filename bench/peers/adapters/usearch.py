"""usearch: HNSW on f32 or bf16."""

import numpy
import usearch.index


class Index:
    def __init__(self, metric, m, ef_construction, storage):
        self.metric = {"Euclidean": "l2sq", "Cosine": "ip"}[metric]
        self.m, self.ef_construction, self.storage = m, ef_construction, storage
        self.parameters = f"connectivity={m}, expansion_add={ef_construction}, {storage}"

    def build(self, base, threads):
        self.index = usearch.index.Index(
            ndim=base.shape[1],
            metric=self.metric,
            dtype=self.storage,
            connectivity=self.m,
            expansion_add=self.ef_construction,
        )
        self.index.add(numpy.arange(len(base)), base, threads=threads)

    def set_ef(self, ef):
        self.index.expansion_search = ef

    def search_batch(self, queries, k):
        matches = self.index.search(queries, k, threads=1)
        self.evaluations = matches.computed_distances
        return matches.keys
