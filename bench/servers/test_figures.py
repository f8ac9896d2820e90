"""PYTHONPATH=bench/peers python -m unittest discover bench/servers"""

from unittest import TestCase

from figures import least, over_best, percentile, spread


class FiguresTest(TestCase):
    def test_a_percentile_is_a_value_that_was_measured(self):
        values = list(range(1, 101))
        for percent, expected in (50, 50), (99, 99), (100, 100), (0, 1):
            self.assertEqual(percentile(values, percent), expected)
        self.assertEqual(percentile([7.5], 99), 7.5)

    def test_the_least_number_that_is_enough_is_found_between_the_rungs(self):
        expectations = {1: 10, 10: 10, 11: 11, 17: 17, 20: 20, 40: 40, 41: None}
        for enough, expected in expectations.items():
            found = least((10, 20, 40), lambda one: one >= enough)
            self.assertEqual(found, expected)

    def test_a_spread_has_the_digits_that_were_asked_for(self):
        found = spread([1.234, 9.876, 2.345], 1)
        self.assertEqual(found, {"median": 2.3, "least": 1.2, "most": 9.9})
        self.assertEqual(spread([1.5, 2.6]), {"median": 2, "least": 2, "most": 3})

    def test_nothing_measured_is_a_dash(self):
        self.assertEqual(spread([], 2), "-")

    def test_the_best_is_that_of_each_round(self):
        self.assertEqual(over_best([6, 6], [[1, 3], [2, 1]], max), [3, 2])
        self.assertEqual(over_best([6, 6], [[1, 3], [2, 1]], min), [6, 6])
