"""python -m unittest discover bench/peers"""

from unittest import TestCase

from ratios import figures, ratio, told


def index(*rounds, builds=()):
    """An index with two breadths, whose queries a second are told for each round."""
    return {
        "rounds": [
            [{"recall": 0.90, "qps": low}, {"recall": 0.99, "qps": high}] for low, high in rounds
        ],
        "builds": [{"build_cpu_seconds": seconds} for seconds in builds],
    }


class RatiosTest(TestCase):
    def test_the_fastest_pass_counts_at_each_breadth_by_itself(self):
        rounds = index((300, 10), (100, 30))
        for recall, expected in (0.90, (300, 100, 300)), (0.99, (10, 30, 30)):
            found = [round(qps, 9) for qps in figures(rounds, recall)]
            self.assertEqual(found, list(expected))

    def test_the_fastest_build_is_the_one_of_least_time(self):
        self.assertEqual(figures(index(builds=(5, 4, 6))), [5, 4, 6, 4])

    def test_the_fastest_pass_takes_no_part_in_the_median(self):
        found = told(figures(index((1, 1), (2, 1), (9, 1)), 0.90))
        self.assertEqual(found, {"median": 2, "least": 1, "most": 9, "fastest": 9})

    def test_the_median_is_of_ratios_within_a_round_and_the_fastest_of_any_two(self):
        own, other = index((40, 1), (10, 1), (90, 1)), index((10, 1), (10, 1), (60, 1))
        found = ratio(figures(own, 0.90), figures(other, 0.90))
        self.assertEqual(found, {"median": 1.5, "least": 1, "most": 4, "fastest": 1.5})

    def test_of_more_builds_the_last_are_held_against_the_others_last(self):
        found = ratio(figures(index(builds=(1, 7, 8))), figures(index(builds=(4,))))
        self.assertEqual(found, {"median": 2, "least": 2, "most": 2, "fastest": 0.25})

    def test_a_recall_that_one_does_not_reach_leaves_no_ratio(self):
        reached = figures(index((20, 10)), 0.99)
        missed = figures(index((20, 10)), 0.999)
        self.assertEqual(missed, [None, None])
        self.assertIsNone(ratio(reached, missed))
        self.assertIsNone(told(missed))
