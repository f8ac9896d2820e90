"""Figures out of what was measured."""

from math import ceil

from curve import summary


def percentile(values, percent):
    """Of sorted values the least that so many percent are not above."""
    return values[max(0, ceil(len(values) * percent / 100) - 1)]


def least(ladder, reaches):
    """The least number that reaches what all above it do, from the first of the ladder on: between
    the two rungs where that begins the interval is halved. None where the last rung is too low.
    """
    below = None
    for high in ladder:
        if reaches(high):
            break
        below = high
    else:
        return None
    while below is not None and high - below > 1:
        middle = (below + high) // 2
        if reaches(middle):
            high = middle
        else:
            below = middle
    return high


def spread(values, digits=0):
    """The median of the rounds, the least and the most, as a cell of a report."""
    if not values:
        return "-"
    found = summary(values)
    return {name: tidy(value, digits) for name, value in found.items()}


def tidy(value, digits):
    return round(value, digits) if digits else round(value)


def over_best(own, others, best):
    """In each round vectord's figure over the best one (`max` or `min`) of the others."""
    return [mine / best(theirs) for mine, *theirs in zip(own, *others)]
