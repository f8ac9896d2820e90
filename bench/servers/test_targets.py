"""PYTHONPATH=bench/peers python -m unittest discover bench/servers"""

from unittest import TestCase

from targets import MINILM, SIFT, verdicts


def server(rate=1.0, p50_ms=1.0, cpu_us=1.0, indexed_rate=1.0):
    """A server that did the same in three rounds; a list is what it did in each."""
    searches = rounds(rate=rate, p50_ms=p50_ms, cpu_us=cpu_us)
    loads = rounds(indexed_rate=indexed_rate)
    return {"one": searches, "eight": searches, "batches": searches, "load": loads}


def rounds(**figures):
    spread = {name: one if isinstance(one, list) else [one] * 3 for name, one in figures.items()}
    return [dict(zip(spread, values)) for values in zip(*spread.values())]


def others(**changes):
    return {name: server(**changes) for name in ("weaviate", "pgvector", "chroma")}


def both(own, **changes):
    """Both sets, in which vectord is `own` and the others are alike."""
    minilm = {"vectord": own, "redis": server(**changes)}
    return {SIFT: {"vectord": own, **others(**changes)}, MINILM: minilm}


def met(measured, what):
    [found] = [one for one in verdicts(measured) if one["what"].startswith(what)]
    return found["met"]


class TargetsTest(TestCase):
    def test_more_is_better_of_rates_and_less_of_times_and_costs(self):
        good = both(server(rate=4, p50_ms=0.3, cpu_us=0.3, indexed_rate=4))
        self.assertEqual([one["met"] for one in verdicts(good)], [True] * 8)
        bad = both(server(rate=2.4, p50_ms=0.31, cpu_us=0.31, indexed_rate=3.9))
        self.assertEqual([one["met"] for one in verdicts(bad)], [False] * 8)

    def test_each_set_has_figures_of_its_own_and_one_that_did_not_run_leaves_its_targets_open(self):
        measured = both(server(rate=4))
        measured[MINILM]["vectord"] = server(rate=2.5)
        self.assertTrue(met(measured, "searches a second, 1"))
        self.assertFalse(met(measured, "cosine searches a second, 1"))
        self.assertTrue(met(measured, "cosine searches a second, 8"))
        del measured[MINILM]
        self.assertIsNone(met(measured, "cosine searches a second, 8"))

    def test_the_best_of_the_others_counts_and_one_that_has_no_batches_has_no_say_there(self):
        measured = both(server(rate=4))
        measured[SIFT]["weaviate"] = server(rate=2)
        measured[SIFT]["weaviate"].pop("batches")
        self.assertFalse(met(measured, "searches a second, 1"))
        self.assertTrue(met(measured, "queries a second, batches"))

    def test_the_median_of_the_rounds_decides_and_the_spread_is_told(self):
        measured = both(server(rate=[3.2, 1, 9]))
        [found] = [one for one in verdicts(measured) if "1 connection" in one["what"]][:1]
        self.assertEqual(found["found"], {"median": 3.2, "least": 1, "most": 9})
        self.assertTrue(found["met"])

    def test_a_server_that_did_not_run_leaves_its_targets_open(self):
        measured = both(server(rate=4))
        del measured[SIFT]["weaviate"]
        found = {one["what"]: one for one in verdicts(measured)}
        still = [what for what, one in found.items() if one["met"] is not None]
        self.assertEqual(len(still), 3)
        self.assertIn("batches", still[0])
        self.assertIn("weaviate did not run", [one["found"] for one in found.values()])
