"""Recall/QPS curves, and what they say at a given recall."""

from math import exp, log
from statistics import median

TARGETS = (0.90, 0.95, 0.99)

# The breadths to try: steps small enough that a curve is straight between two of them.
LADDER = (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)
LADDER += (320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048)


def breadths(recall_of, targets=TARGETS, least=LADDER[0]):
    """The breadths between which these recalls lie, from one climb of the ladder from the least."""
    chosen = []
    for ef in (least, *(ef for ef in LADDER if ef > least)):
        recall = recall_of(ef)
        if recall < targets[0]:
            chosen.clear()
        chosen.append(ef)
        if recall >= targets[-1]:
            break
    return chosen


def at_recall(curve, recall, value="qps"):
    """A value of a curve at equal recall: its logarithm is taken to be linear in the recall
    between the two neighbouring points. Before the first point that point counts, as less breadth
    is not to be had; past the last one there is no value.
    """
    below = None
    for point in curve:
        if point["recall"] >= recall:
            if below is None:
                return point[value]
            part = (recall - below["recall"]) / (point["recall"] - below["recall"])
            return exp((1 - part) * log(below[value]) + part * log(point[value]))
        below = point
    return None


def fastest(rounds):
    """The curve of the fastest pass at each breadth."""
    return [max(points, key=lambda point: point["qps"]) for points in zip(*rounds)]


def summary(values):
    """The median with its spread; None unless every round has a value."""
    if None in values:
        return None
    return {"median": median(values), "least": min(values), "most": max(values)}


def quotient(value, other):
    return None if value is None or other is None else value / other
