"""NGT of Yahoo Japan: an ONNG graph on f32, made of an ANNG.

Its nearest equivalent of the others' parameters: as many edges in the ANNG as an HNSW graph has
links in layer 0, 2 M, then half as many outgoing and as many incoming edges as NGT's guide gives an
ONNG. A breadth of `ef` is an epsilon of ef / 1,000: how much farther than the last result a walk
goes.
"""

import tempfile
from pathlib import Path

import ngtpy
import numpy


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.edges = 2 * m
        self.parameters = f"ONNG, {2 * m} edges, {m} outgoing, 100 incoming, {storage}"
        self.folder = tempfile.TemporaryDirectory(prefix="ngt-")

    def build(self, base, threads):
        anng, onng = (str(Path(self.folder.name) / name) for name in ("anng", "onng"))
        ngtpy.create(anng, base.shape[1], distance_type="L2", edge_size_for_creation=self.edges)
        index = ngtpy.Index(anng, log_disabled=True)
        index.batch_insert(base, num_threads=threads)
        index.save()
        index.close()
        optimizer = ngtpy.Optimizer(
            num_of_outgoings=self.edges // 2, num_of_incomings=100, log_disabled=True
        )
        # Without tables of what accuracy an epsilon gives, which take minutes.
        optimizer.set_processing_modes(
            search_parameter_optimization=False,
            prefetch_parameter_optimization=False,
            accuracy_table_generation=False,
        )
        optimizer.execute(anng, onng)
        self.index = ngtpy.Index(onng, read_only=True, log_disabled=True)

    def set_ef(self, ef):
        self.epsilon = ef / 1_000

    def search_batch(self, queries, k):
        rows = numpy.full((len(queries), k), -1)
        for row, query in zip(rows, queries):
            found = self.index.search(query, k, self.epsilon, with_distance=False)
            row[: len(found)] = found
        return rows
