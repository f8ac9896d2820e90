"""The targets of vectord among servers, and whether a run meets them."""

from dataclasses import dataclass
from statistics import median

from figures import over_best, spread

OWN = "vectord"
PEERS = ("weaviate", "pgvector", "chroma")
SIFT, MINILM, PAYLOAD = "sift-100k", "minilm-40k", "sift-100k-payload"


@dataclass(frozen=True)
class Target:
    """vectord's figure over the best of the peers' in the same round: at least this where more is
    better, else at most this.
    """

    what: str
    phase: str
    figure: str
    bound: float
    more: bool = True
    peers: tuple = PEERS
    set: str = SIFT

    def wish(self):
        return f"{'at least' if self.more else 'at most'} {self.bound:g}"


REDIS = {"peers": ("redis",), "set": MINILM}
TARGETS = [
    Target("searches a second, 1 connection", "one", "rate", 3.2),
    Target("p50, 1 connection", "one", "p50_ms", 0.3, more=False, peers=("weaviate",)),
    Target("searches a second, 8 connections", "eight", "rate", 2.6),
    Target("server CPU per search, 8 connections", "eight", "cpu_us", 0.3, more=False),
    Target("queries a second, batches of 64", "batches", "rate", 3.3, peers=PEERS[1:]),
    Target("points a second until durable, indexed and searchable", "load", "indexed_rate", 4),
    Target("cosine searches a second, 1 connection", "one", "rate", 2.6, **REDIS),
    Target("cosine searches a second, 8 connections", "eight", "rate", 2.5, **REDIS),
]


def verdicts(measured):
    """What a run says of each target; `measured` has the rounds of each phase of each server, by
    set.
    """
    return [verdict(target, measured.get(target.set, {})) for target in TARGETS]


def verdict(target, measured):
    found = {"what": f"{target.what}: vectord over {named(target.peers)}", "target": target.wish()}
    absent = [name for name in (OWN, *target.peers) if name not in measured]
    if absent:
        return {**found, "found": f"{' and '.join(absent)} did not run", "met": None}
    rounds = {
        name: [one[target.figure] for one in measured[name][target.phase]]
        for name in (OWN, *target.peers)
    }
    others = [rounds[name] for name in target.peers]
    ratios = over_best(rounds[OWN], others, max if target.more else min)
    middle = median(ratios)
    met = middle >= target.bound if target.more else middle <= target.bound
    return {**found, "found": spread(ratios, 2), "met": met}


def named(peers):
    return peers[0] if len(peers) == 1 else f"the best of {', '.join(peers)}"
