"""The targets of vectord, each a ratio to another library, and whether a run meets them."""

from dataclasses import dataclass
from typing import Optional

from curve import summary
from ratios import OWN, figures, ratio

# Stands for whichever is the fastest of the others, in each round.
BEST = "the best peer"
BUILD_CPU = "build CPU"
JUDGED_K = 10
# How many times as fast as one thread two are to build.
TWO_THREADS = 1.5


@dataclass(frozen=True)
class Target:
    """vectord's figure over that of a peer: at least this for queries per second at a recall, or
    at most this for the processor time of a build.
    """

    case: str
    peer: str
    recall: Optional[float]
    bound: float
    # Whether the bound itself is not enough.
    strict: bool = False

    def wish(self):
        if self.recall is None:
            return f"at most {self.bound:g}"
        return f"more than {self.bound:g}" if self.strict else f"at least {self.bound:g}"

    def met(self, ratio):
        if self.recall is None:
            return ratio <= self.bound
        return ratio > self.bound if self.strict else ratio >= self.bound


def search_targets():
    for case in "sift-100k", "sift-300k", "sift-1m", "minilm", "minilm-100k", "minilm-1m":
        for recall, least in (0.90, 1.3), (0.95, 1.5), (0.99, 1.5):
            yield Target(case, BEST, recall, least)
    for case, at_99 in ("sift-100k", 2.5), ("minilm", 3):
        yield Target(case, "hnswlib", 0.95, 3)
        yield Target(case, "hnswlib", 0.99, at_99)
        for recall in 0.95, 0.99:
            yield Target(case, "svs-f16", recall, 1.4)
            for peer in "faiss", "usearch-f32", "usearch-bf16", "scann":
                yield Target(case, peer, recall, 1, strict=True)
            yield Target(case, "hnsw_rs", recall, 10)
    for case in "sift-100k-manhattan", "minhash":
        for recall in 0.95, 0.99:
            yield Target(case, "hnsw_rs", recall, 3)


BUILD_TARGETS = [
    Target("sift-100k", "hnswlib", None, 0.45),
    Target("minilm", "hnswlib", None, 0.32),
    *(
        Target(case, "hnswlib", None, 0.35)
        for case in ("sift-300k", "sift-1m", "minilm-100k", "minilm-1m")
    ),
]
TARGETS = [*search_targets(), *BUILD_TARGETS]


def builders(case):
    """The indexes whose builds are held against a target, so that more than one round counts."""
    peers = {target.peer for target in BUILD_TARGETS if target.case == case}
    return peers | {OWN} if peers else set()


def verdicts(case):
    """What a case says of its targets, which are all for the JUDGED_K nearest. One whose peer did
    not run, or that the other index cannot be held against, says so in place of a ratio.
    """
    if case["k"] != JUDGED_K:
        return []
    targets = [target for target in TARGETS if target.case == case["name"]]
    found = [verdict(target, case["indexes"]) for target in targets]
    if OWN in builders(case["name"]):
        found.append(two_threads_verdict(case["indexes"]))
    return found


def two_threads_verdict(indexes):
    found = {
        "ratio to": "itself",
        "of": "build speed, two threads to one",
        "target": f"at least {TWO_THREADS:g}",
        "ratio": None,
        "met": None,
    }
    builds = indexes.get(OWN, {"builds": []})["builds"]
    rounds = [one for one in builds if "two_threads_seconds" in one]
    if not rounds:
        return {**found, "note": "it was not built by one thread and by two"}
    speed = summary([one["build_seconds"] / one["two_threads_seconds"] for one in rounds])
    return {**found, "ratio": speed, "met": speed["median"] >= TWO_THREADS}


def verdict(target, indexes):
    found = {
        "ratio to": target.peer,
        "of": BUILD_CPU if target.recall is None else f"QPS at {target.recall:.2f}",
        "target": target.wish(),
        "ratio": None,
        "met": None,
    }
    peers = [name for name in indexes if name != OWN] if target.peer == BEST else [target.peer]
    absent = [name for name in (OWN, *peers) if name not in indexes]
    if absent:
        return {**found, "note": f"{' and '.join(absent)} did not run"}
    if not peers:
        return {**found, "note": "no peer ran"}
    own = figures(indexes[OWN], target.recall)
    other = best([figures(indexes[name], target.recall) for name in peers])
    if None in own:
        return {**found, "met": False, "note": f"{OWN} does not reach the recall"}
    if None in other:
        return {**found, "met": True, "note": f"{target.peer} does not reach the recall"}
    over = ratio(own, other)
    return {**found, "ratio": over, "met": target.met(over["median"])}


def best(peers):
    """The greatest figure of each round; None where no peer has one."""
    return [max((one for one in found if one is not None), default=None) for found in zip(*peers)]
