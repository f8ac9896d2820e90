"""The sets, their exact answers by brute force, and recall against them."""

from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy

from grow import grown
from machine import ROOT
from texts import made

MADE_SETS = ROOT / "bench" / "results" / "sets"

# How many results a search has, unless it is told otherwise.
K = 10
# All numbers that a search can be told.
KS = (K, 100)

# Rows of which distances are computed at a time, so that the differences stay in the cache.
CHUNK_ROWS = 2_000


@dataclass(frozen=True)
class Case:
    """A set, and the metric to search it under."""

    name: str
    metric: str
    base: str = ""
    queries: str = ""
    most_points: Optional[int] = None
    # The points that the set is grown to, with `grow`.
    grown_to: Optional[int] = None
    # The name of a set that `texts` makes, in place of the files.
    texts: Optional[str] = None


SIFT = "sift_base.u8.npy", "sift_query.u8.npy"
MINILM = "minilm_base.f16.npy", "minilm_query.f16.npy"
REAL = [
    Case("sift-100k", "Euclidean", *SIFT, 100_000),
    Case("minilm", "Cosine", *MINILM),
    Case("sift-100k-manhattan", "Manhattan", *SIFT, 100_000),
    Case("minhash", "Hamming", "minhash_base.u8.npy", "minhash_query.u8.npy"),
]
# Grown ones, and some that a model makes of texts, which takes minutes.
MADE = [
    Case("sift-300k", "Euclidean", *SIFT, grown_to=300_000),
    Case("minilm-100k", "Cosine", *MINILM, grown_to=100_000),
    Case("minilm-use", "Cosine", texts="joined"),
    Case("minilm-use-100k", "Cosine", texts="joined", grown_to=100_000),
    Case("use-names", "Cosine", texts="names"),
]
# They take long and must be asked for.
OF_A_MILLION = [
    Case("sift-1m", "Euclidean", *SIFT, grown_to=1_000_000),
    Case("minilm-1m", "Cosine", *MINILM, grown_to=1_000_000),
]
CASES = REAL + MADE + OF_A_MILLION


class Set:
    """The vectors of a case, and how far the nearest of each query are."""

    def __init__(self, folder, case, most_points, most_queries=None):
        self.case = case
        self.base_file, self.query_file = Path(folder) / case.base, Path(folder) / case.queries
        if case.texts is not None:
            self.base_file, self.query_file = made(case.texts, folder, MADE_SETS)
        if case.grown_to is not None:
            self.base_file = grown(self.base_file, case.grown_to, MADE_SETS)
        limits = [limit for limit in (case.most_points, most_points) if limit]
        self.base = floats(self.base_file, min(limits, default=None))
        self.queries = floats(self.query_file, most_queries)
        if case.metric == "Cosine":
            self.base, self.queries = unit(self.base), unit(self.queries)
        self.points, self.dimension = self.base.shape
        self.find_answers(numpy.arange(self.points))

    def among(self, matching):
        """The same queries, whose right answers are among the rows that are marked."""
        some = copy(self)
        some.find_answers(numpy.flatnonzero(matching))
        return some

    def find_answers(self, rows):
        """Finds how far the right results of each query are, of these rows."""
        self.rows = rows
        self.matches = numpy.zeros(self.points, bool)
        self.matches[rows] = True
        self.nearest = [self.nearest_to(query) for query in self.queries]

    def nearest_to(self, query):
        """The distances of the right results, in their order."""
        chunks = range(0, len(self.rows), CHUNK_ROWS)
        distances = [self.distances(query, self.rows[at : at + CHUNK_ROWS]) for at in chunks]
        distances, wanted = numpy.concatenate(distances), min(max(KS), len(self.rows))
        return numpy.sort(numpy.partition(distances, wanted - 1)[:wanted])

    def distances(self, query, rows):
        return DISTANCES[self.case.metric](self.base[rows], query)

    def recall(self, found, k=K):
        """The share of right results. By distance, as any row at the k-th distance is right."""
        hits, wanted = 0, min(k, len(self.rows))
        for query, nearest, rows in zip(self.queries, self.nearest, found):
            bound = nearest[wanted - 1]
            rows = [row for row in set(rows[:k]) if 0 <= row < self.points and self.matches[row]]
            # Sums of other shapes round otherwise, and no shape is the right one.
            hits += int(numpy.sum(self.distances(query, rows) <= bound + 1e-6 * max(bound, 1)))
        return hits / (wanted * len(self.queries))


def floats(path, most_rows=None):
    return numpy.load(path)[:most_rows].astype("f4")


def unit(vectors):
    """The vectors at length 1; a zero vector as it is."""
    norms = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / numpy.where(norms == 0, 1, norms)


DISTANCES = {
    "Euclidean": lambda base, query: numpy.linalg.norm(base - query, axis=-1),
    "Manhattan": lambda base, query: numpy.abs(base - query).sum(axis=-1),
    "Hamming": lambda base, query: (base != query).sum(axis=-1),
    "Cosine": lambda base, query: 1 - base @ query,
}
