"""Glass: an HNSW graph that is walked by quantized vectors."""

import glass


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.degree, self.ef_construction = 2 * m, ef_construction
        self.quantizer, _, self.refined = storage.partition("+")
        self.parameters = f"HNSW, R={2 * m}, L={ef_construction}, {storage}"

    def build(self, base, threads):
        index = glass.Index("HNSW", "L2", "FP32", R=self.degree, L=self.ef_construction)
        graph = index.build(base)
        self.index = glass.Searcher(graph, base, "L2", self.quantizer, self.refined)
        self.index.optimize(1)

    def set_ef(self, ef):
        self.index.set_ef(ef)

    def search_batch(self, queries, k):
        rows, _ = self.index.batch_search(queries, k, 1)
        return rows.reshape(-1, k)
