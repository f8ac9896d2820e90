"""python -m unittest discover bench/peers"""

from unittest import TestCase

from losses import index_row, kept, loss_over, loss_row


def rounds(*rates, recall=0.995):
    """A round for each rate, which is the same at every recall up to this."""
    return [[{"recall": 0.8, "qps": rate}, {"recall": recall, "qps": rate}] for rate in rates]


class LossesTest(TestCase):
    def test_kept_is_the_median_beside_the_neighbour_over_the_median_alone(self):
        self.assertAlmostEqual(kept(rounds(100, 200, 900), rounds(50, 150, 160), 0.9), 0.75)

    def test_a_loss_is_held_against_the_other_index_s(self):
        self.assertAlmostEqual(loss_over(0.7, 0.9), 3)
        self.assertAlmostEqual(loss_over(1.1, 0.9), -1)
        for own, other in (0.7, 1), (0.7, 1.2), (None, 0.5), (0.5, None):
            self.assertIsNone(loss_over(own, other))

    def test_a_row_has_the_spread_of_the_rounds_and_what_is_kept(self):
        row = index_row("a", rounds(100, 200, 400, recall=0.96), rounds(90, 100, 110, recall=0.96))
        self.assertEqual(row["QPS at 0.95 alone"], {"median": 200, "least": 100, "most": 400})
        self.assertEqual(row["QPS at 0.95 beside it"], {"median": 100, "least": 90, "most": 110})
        self.assertEqual(row["kept at 0.95"], 0.5)
        for column in "QPS at 0.99 alone", "QPS at 0.99 beside it", "kept at 0.99":
            self.assertEqual(row[column], "-")

    def test_the_figure_is_vectord_s_loss_over_symphonyqg_s(self):
        alone = {"vectord": rounds(100), "symphonyqg": rounds(200), "faiss": rounds(1)}
        beside = {"vectord": rounds(70), "symphonyqg": rounds(180), "faiss": rounds(1)}
        losses = {"at 0.90": 3, "at 0.95": 3, "at 0.99": 3}
        self.assertEqual(loss_row("s", 10, alone, beside), {"set": "s", "k": 10, **losses})
        del alone["symphonyqg"], beside["symphonyqg"]
        self.assertEqual(loss_row("s", 10, alone, beside)["at 0.95"], "-")
