"""Filters of the form `r < bound` over a number of each point, which has nothing to do with its
vector. crates/bench/src/bin/peer has the same numbers.
"""

FIELD = "r"

# Shares of the points in percent; None is a search without a filter.
SHARES = (None, 50, 10, 1, 0.1, 0.01)
# vectord has to make this many times the searches of the best peer, at these shares.
TIMES_PEER = 2
JUDGED = (50, 10, 1, 0.1)

# The numbers of this many points in a row are all different; the stride has no divisor in common.
NUMBERS, STRIDE = 100_000, 61_803


def number(row):
    """The number of a point, or the numbers of an array of rows."""
    return row * STRIDE % NUMBERS


def bound(share):
    """The least number that does not match; 0 stands for no filter."""
    return 0 if share is None else round(NUMBERS * share / 100)


def named(share):
    return "none" if share is None else f"{share:g} %"


def by_share(data):
    """The set under each filter: what it finds is held against the points that match."""
    numbers = number(data.rows)
    return {
        share: data if share is None else data.among(numbers < bound(share)) for share in SHARES
    }
