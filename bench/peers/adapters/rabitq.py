"""The library of RaBitQ: SymphonyQG, a graph whose rows hold 1-bit codes of the neighbours.

Its degree is that of layer 0 of an HNSW graph, 2 M. Vectors of length 1 are searched under L2, which
orders them as their angles do.
"""

import rabitqlib


class Index:
    evaluations = None

    def __init__(self, metric, m, ef_construction, storage):
        self.degree, self.ef_construction, self.bits = 2 * m, ef_construction, int(storage)
        kept = f"{storage}-bit vectors" if self.bits else "f32"
        self.parameters = f"SymphonyQG, degree={2 * m}, ef_construction={ef_construction}, {kept}"

    def build(self, base, threads):
        self.index = rabitqlib.SymqgIndex(
            base.shape[1], self.degree, metric="l2", quantization_bits=self.bits
        )
        self.index.build(base, self.ef_construction, num_threads=threads)

    def set_ef(self, ef):
        self.ef = ef

    def search_batch(self, queries, k):
        rows, _ = self.index.search_batch(queries, k, self.ef, num_threads=1)
        return rows
