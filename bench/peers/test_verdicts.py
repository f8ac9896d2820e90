"""python -m unittest discover bench/peers"""

from unittest import TestCase

from verdicts import builders, verdicts


def index(qps, build=10.0):
    """An index with one curve for each of `qps`, or one that stays at a recall of 0.9."""
    curves = [
        [{"recall": 0.94, "qps": 2 * rate}, {"recall": 0.995, "qps": rate}] for rate in qps
    ] or [[{"recall": 0.9, "qps": 1.0}]]
    return {"rounds": curves, "builds": [{"build_cpu_seconds": build}]}


def judged(case, k=10, **indexes):
    found = verdicts({"name": case, "k": k, "indexes": indexes})
    return {(one["ratio to"], one["of"]): one for one in found}


class VerdictsTest(TestCase):
    def test_the_median_of_the_rounds_decides_and_the_spread_is_told(self):
        found = judged("minilm", vectord=index([20, 31, 40]), hnswlib=index([10, 10, 10]))
        at_99 = found["hnswlib", "QPS at 0.99"]
        self.assertTrue(at_99["met"])
        for name, expected in ("median", 3.1), ("least", 2.0), ("most", 4.0):
            self.assertAlmostEqual(at_99["ratio"][name], expected)

    def test_a_ratio_below_its_target_is_missed(self):
        found = judged("minilm", vectord=index([29]), hnswlib=index([10]))
        self.assertFalse(found["hnswlib", "QPS at 0.95"]["met"])

    def test_targets_are_for_the_10_nearest_alone(self):
        ahead = {"vectord": index([30]), "hnswlib": index([10])}
        self.assertTrue(judged("minilm", **ahead))
        self.assertEqual(judged("minilm", k=100, **ahead), {})

    def test_a_draw_is_not_ahead(self):
        found = judged("sift-100k", vectord=index([10]), faiss=index([10]))
        self.assertFalse(found["faiss", "QPS at 0.95"]["met"])

    def test_a_build_may_take_no_more_than_its_share_of_processor_time(self):
        for build, met in (3.2, True), (3.3, False):
            found = judged("minilm", vectord=index([1], build), hnswlib=index([1], 10.0))
            self.assertEqual(found["hnswlib", "build CPU"]["met"], met)

    def test_a_peer_that_did_not_run_leaves_its_targets_open(self):
        found = judged("minhash", vectord=index([10]))
        self.assertIsNone(found["hnsw_rs", "QPS at 0.95"]["met"])
        self.assertIn("hnsw_rs did not run", found["hnsw_rs", "QPS at 0.95"]["note"])

    def test_a_recall_that_is_not_reached_is_lost_to_whoever_reaches_it(self):
        for own, other, met in ([1], [], True), ([], [1], False), ([], [], False):
            found = judged("minhash", vectord=index(own), hnsw_rs=index(other))
            self.assertEqual(found["hnsw_rs", "QPS at 0.95"]["met"], met)

    def test_the_best_peer_is_the_fastest_of_each_round(self):
        peers = {"hnswlib": index([10, 30, 10]), "faiss": index([20, 10, 20])}
        found = judged("sift-1m", vectord=index([36, 48, 28]), **peers)
        at_99 = found["the best peer", "QPS at 0.99"]
        self.assertTrue(at_99["met"])
        for name, expected in ("median", 1.6), ("least", 1.4), ("most", 1.8):
            self.assertAlmostEqual(at_99["ratio"][name], expected)
        alone = judged("sift-1m", vectord=index([1]))["the best peer", "QPS at 0.90"]
        self.assertIsNone(alone["met"])
        self.assertEqual(alone["note"], "no peer ran")

    def test_builds_are_repeated_where_a_target_asks_for_them(self):
        self.assertEqual(builders("minilm"), {"vectord", "hnswlib"})
        self.assertEqual(builders("minhash"), set())
