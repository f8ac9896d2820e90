"""The indexes that take part, each in a process of its own that obeys one line at a time."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from curve import breadths
from sets import K

M, EF_CONSTRUCTION = 16, 200

# What makes a point of a curve, so that a moment's disturbance does not.
LEAST_PASSES, LEAST_SECONDS = 3, 0.2

WORKER = [sys.executable, str(Path(__file__).with_name("worker.py"))]
ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"], "1"
)


@dataclass(frozen=True)
class Participant:
    name: str
    module: str
    storage: str = "f32"
    metrics: tuple = ("Euclidean", "Cosine")
    # vectord ranks vectors where its store keeps them and adds codes and links; others copy them.
    copies_vectors: bool = True
    # Whether a breadth is a number of candidates, of which there are at least as many as results.
    counts_candidates: bool = True
    # Whether it takes part in the made sets, too, unless peers are named. The others are far behind.
    leads: bool = False


ALL = ("Euclidean", "Manhattan", "Hamming", "Cosine")
PARTICIPANTS = [
    Participant("vectord", "vectord", metrics=ALL, copies_vectors=False, leads=True),
    Participant("hnswlib", "hnswlib", leads=True),
    Participant("faiss", "faiss", leads=True),
    Participant("usearch-f32", "usearch"),
    Participant("usearch-bf16", "usearch", "bf16"),
    Participant("svs-f16", "svs", "float16", leads=True),
    Participant("scann", "scann"),
    Participant("hnsw_rs", "hnsw_rs", metrics=ALL),
    Participant("symphonyqg", "rabitq", "0", leads=True),
    Participant("symphonyqg-8", "rabitq", "8", leads=True),
    Participant("glass", "glass", "SQ8U+FP32", leads=True),
    Participant("vsag", "vsag", "sq8_uniform"),
    Participant("ngt", "ngt", counts_candidates=False),
]
# With filters.
FILTERED = [
    Participant("vectord", "vectord-filtered"),
    Participant("qdrant-edge", "qdrant_edge"),
    Participant("qdrant-edge-walk", "qdrant_edge", "walk"),
    Participant("qdrant-edge-acorn", "qdrant_edge", "acorn"),
]
RUST = ("vectord", "vectord-filtered", "hnsw_rs")


class Process:
    """A participant at work on one set."""

    def __init__(self, participant, program, data, log):
        self.participant, self.data, self.log, self.k = participant, data, log, K
        own = [program, participant.module]
        if participant.module not in RUST:
            own = [*WORKER, participant.module, participant.storage]
        job = [data.case.metric, data.base_file, data.query_file, data.points, M, EF_CONSTRUCTION]
        with open(log, "w") as errors:
            self.child = subprocess.Popen(
                [str(word) for word in own + job],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
        self.usage = psutil.Process(self.child.pid)
        self.facts = self.reply()

    def build(self, threads):
        """Builds the index; `facts` then holds what it took, memory as seen from outside."""
        memory = self.usage.memory_info().rss
        took = self.ask(f"build {threads}")
        self.facts["build_seconds"] = took["seconds"]
        self.facts["build_cpu_seconds"] = took["cpu_seconds"]
        added = self.usage.memory_info().rss - memory
        vectors = self.data.base.nbytes
        self.facts["memory_bytes"] = added + (0 if self.participant.copies_vectors else vectors)
        self.facts["memory_ratio"] = self.facts["memory_bytes"] / vectors

    def filter(self, data, bound):
        """Sets the filter of later searches, numbers below `bound`, or none if that is 0. `data` has
        the right answers under it.
        """
        self.data = data
        self.ask(f"filter {bound}")

    def set_k(self, k):
        """Sets how many results the later searches have, and the breadths to measure them at."""
        self.ask(f"k {k}")
        self.k = k
        self.breadths = breadths(self.recall, least=k if self.participant.counts_candidates else K)

    def recall(self, ef):
        return self.data.recall(self.ask(f"search {ef}")["found"], self.k)

    def search(self, ef, least_passes=LEAST_PASSES, least_seconds=LEAST_SECONDS):
        """A point of the recall/QPS curve, from the median of a few passes over all queries."""
        passes = []
        while len(passes) < least_passes or total(passes, "cpu_seconds") < least_seconds:
            passes.append(self.ask(f"search {ef}"))
        queries, evaluations = len(self.data.queries), passes[0]["evaluations"]
        return {
            "ef": ef,
            "recall": self.data.recall(passes[0]["found"], self.k),
            "qps": queries / median(one["cpu_seconds"] for one in passes),
            "work": total(passes, "cpu_seconds") / total(passes, "seconds"),
            "evaluations": None if evaluations is None else evaluations / queries,
        }

    def one_pass(self, ef):
        return self.search(ef, least_passes=1, least_seconds=0)

    def ask(self, command):
        with suppress(BrokenPipeError):
            print(command, file=self.child.stdin, flush=True)
        return self.reply()

    def reply(self):
        line = self.child.stdout.readline()
        if not line:
            status = self.child.wait()
            last_words = self.log.read_text().strip().splitlines()[-1:]
            raise Gone(": ".join([f"it ended with {status}", *last_words]))
        return json.loads(line)

    def end(self):
        """Lets the process go: it ends with its input."""
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()


def total(passes, what):
    return sum(one[what] for one in passes)


class Gone(Exception):
    """A participant that cannot take part, or no longer."""
