"""What a neighbour in the memory costs an index."""

from statistics import median

from curve import TARGETS, summary
from ratios import OWN, figures

# Whose loss vectord's is held against: the peer that comes closest to it.
RIVAL = "symphonyqg"


def rates(rounds, recall):
    """The queries a second of each round; None unless every round reaches the recall."""
    *found, _ = figures({"rounds": rounds}, recall)
    return None if None in found else found


def kept(alone, beside, recall):
    """The share of its queries a second that an index keeps: median over median."""
    quiet, busy = rates(alone, recall), rates(beside, recall)
    return None if quiet is None or busy is None else median(busy) / median(quiet)


def loss_over(own, other):
    """How many times as much as another an index loses; None where the other loses nothing."""
    if own is None or other is None or other >= 1:
        return None
    return (1 - own) / (1 - other)


def index_row(name, alone, beside):
    """A row of the table; `alone` and `beside` are the rounds of an index."""
    row = {"index": name}
    for recall in TARGETS:
        for words, rounds in ("alone", alone), ("beside it", beside):
            spread = summary(rates(rounds, recall) or [None])
            row[f"QPS at {recall:.2f} {words}"] = told(spread)
        share = kept(alone, beside, recall)
        row[f"kept at {recall:.2f}"] = "-" if share is None else round(share, 3)
    return row


def loss_row(data, k, alone, beside):
    """vectord's loss over the rival's at every recall; `alone` and `beside` are rounds by index."""
    row = {"set": data, "k": k}
    for recall in TARGETS:
        shares = [
            kept(alone[name], beside[name], recall) if name in alone else None
            for name in (OWN, RIVAL)
        ]
        found = loss_over(*shares)
        row[f"at {recall:.2f}"] = "-" if found is None else round(found, 2)
    return row


def told(spread):
    return "-" if spread is None else {key: round(value) for key, value in spread.items()}
