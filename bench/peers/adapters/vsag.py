"""VSAG: HGraph, walked by codes of 8 bits and reranked by f32."""

import json

import numpy
import pyvsag


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.degree, self.ef_construction, self.quantizer = 2 * m, ef_construction, storage
        self.parameters = f"HGraph, degree={2 * m}, ef_construction={ef_construction}, {storage}"

    def build(self, base, threads):
        count, dimension = base.shape
        parameters = {
            "dtype": "float32",
            "metric_type": "l2",
            "dim": dimension,
            "index_param": {
                "base_quantization_type": self.quantizer,
                "use_reorder": True,
                "precise_quantization_type": "fp32",
                "max_degree": self.degree,
                "ef_construction": self.ef_construction,
                "build_thread_count": threads,
            },
        }
        self.index = pyvsag.Index("hgraph", json.dumps(parameters))
        self.index.build(base.ravel(), numpy.arange(count, dtype="i8"), count, dimension)

    def set_ef(self, ef):
        self.search = json.dumps({"hgraph": {"ef_search": ef}})

    def search_batch(self, queries, k):
        return numpy.array([self.index.knn_search(query, k, self.search)[0] for query in queries])
