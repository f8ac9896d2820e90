"""faiss: IndexHNSWFlat on f32."""

import faiss


class Index:
    def __init__(self, metric, m, ef_construction, storage):
        self.metric = {"Euclidean": faiss.METRIC_L2, "Cosine": faiss.METRIC_INNER_PRODUCT}[metric]
        self.m, self.ef_construction = m, ef_construction
        compiled = faiss.get_compile_options().strip()
        self.parameters = f"M={m}, efConstruction={ef_construction}, {storage}, {compiled}"

    def build(self, base, threads):
        self.index = faiss.IndexHNSWFlat(base.shape[1], self.m, self.metric)
        self.index.hnsw.efConstruction = self.ef_construction
        faiss.omp_set_num_threads(threads)
        self.index.add(base)
        faiss.omp_set_num_threads(1)

    def set_ef(self, ef):
        self.index.hnsw.efSearch = ef

    def search_batch(self, queries, k):
        faiss.cvar.hnsw_stats.reset()
        _, rows = self.index.search(queries, k)
        return rows

    @property
    def evaluations(self):
        return faiss.cvar.hnsw_stats.ndis
