"""python -m unittest discover bench/peers"""

from math import sqrt
from unittest import TestCase

from curve import LADDER, at_recall, breadths, fastest, summary


def curve(*points):
    return [{"recall": recall, "qps": qps} for recall, qps in points]


class CurveTest(TestCase):
    def test_halfway_between_two_points_is_their_geometric_mean(self):
        self.assertAlmostEqual(at_recall(curve((0.94, 800), (0.96, 200)), 0.95), sqrt(800 * 200))

    def test_the_neighbouring_points_alone_decide(self):
        points = curve((0.5, 9000), (0.94, 800), (0.96, 200), (0.99, 1))
        self.assertAlmostEqual(at_recall(points, 0.95), 400)

    def test_a_recall_below_the_first_point_gets_that_point(self):
        self.assertEqual(at_recall(curve((0.97, 500), (0.99, 100)), 0.95), 500)

    def test_a_recall_that_is_never_reached_has_no_value(self):
        self.assertIsNone(at_recall(curve((0.8, 500), (0.94, 100)), 0.95))

    def test_breadths_reach_from_below_the_least_target_to_the_greatest(self):
        recalls = dict(zip(LADDER, (0.5, 0.8, 0.89, 0.93, 0.96, 0.995, 0.999)))
        self.assertEqual(breadths(recalls.get), list(LADDER[2:6]))

    def test_a_climb_begins_at_the_least_breadth_that_there_is(self):
        tried = []

        def recall_of(ef):
            tried.append(ef)
            return 0.5 if ef < 128 else 0.93 if ef < 160 else 0.995

        self.assertEqual(breadths(recall_of, least=100), [112, 128, 160])
        self.assertEqual(tried, [100, 112, 128, 160])

    def test_one_round_without_a_value_leaves_none(self):
        self.assertIsNone(summary([1.0, None, 3.0]))
        self.assertEqual(summary([3.0, 1.0, 2.0]), {"median": 2.0, "least": 1.0, "most": 3.0})

    def test_the_fastest_pass_is_taken_at_each_breadth(self):
        rounds = [curve((0.9, 100), (0.99, 30)), curve((0.9, 200), (0.99, 20))]
        self.assertEqual(fastest(rounds), curve((0.9, 200), (0.99, 30)))
