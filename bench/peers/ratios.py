"""What indexes do in each round, and vectord's figures over those of others."""

from curve import at_recall, fastest, quotient, summary

OWN = "vectord"


def figures(index, recall=None):
    """The queries a second at a recall, or the processor time of a build: of each round, and last
    by the fastest pass at each breadth or of the fastest build.
    """
    if recall is None:
        times = [facts["build_cpu_seconds"] for facts in index["builds"]]
        return [*times, min(times)]
    curves = [*index["rounds"], fastest(index["rounds"])]
    return [at_recall(curve, recall) for curve in curves]


def told(figures):
    """The median of the rounds with the least and the most, and what the fastest say. None if a
    round has no figure.
    """
    *rounds, by_fastest = figures
    found = summary(rounds)
    return found and {**found, "fastest": by_fastest}


def ratio(own, other):
    """vectord's figures over others', round by round; None where one has none."""
    # The last rounds are common to both, if one has more.
    pairs = list(zip(reversed(own), reversed(other)))
    return told([quotient(one, another) for one, another in reversed(pairs)])
