"""Scalable Vector Search of Intel: a Vamana graph on f16.

Its nearest equivalent of the others' parameters: a degree of 2 M, which is that of layer 0 of an
HNSW graph, and a window of ef_construction.
"""

import numpy
import svs


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.type = numpy.dtype(storage)
        # Vectors of length 1 order by angle as they order by L2, in which Vamana builds best.
        self.build_parameters = svs.VamanaBuildParameters(
            alpha=1.2, graph_max_degree=2 * m, window_size=ef_construction
        )
        self.parameters = f"degree={2 * m}, window={ef_construction}, alpha=1.2, {storage}"

    def build(self, base, threads):
        self.index = svs.Vamana.build(
            self.build_parameters, base.astype(self.type), svs.DistanceType.L2, num_threads=threads
        )
        self.index.num_threads = 1

    def set_ef(self, ef):
        self.index.search_window_size = ef

    def search_batch(self, queries, k):
        rows, _ = self.index.search(queries, k)
        return rows
