"""python -m unittest discover bench/peers"""

from unittest import TestCase

from report import aligned, kind_of, overview, replaced

PAGE = "first\n\n<!-- avx2 -->\n\nold\n\n<!-- end of avx2 -->\n\nlast\n"


def case(name, metric="Euclidean", k=10, is_made=False, **ratios):
    """A set in which vectord is that many times as fast at every recall; None is never reached."""
    others = {
        peer: {
            "ratios": {
                recall: times and {"fastest": times, "median": times / 2}
                for recall in ("0.9", "0.95", "0.99")
            }
        }
        for peer, times in ratios.items()
    }
    own = {"ratios": dict.fromkeys(("0.9", "0.95", "0.99"))}
    indexes = {"vectord": own, **others}
    return {"name": name, "metric": metric, "k": k, "is_made": is_made, "indexes": indexes}


class ReportTest(TestCase):
    def test_the_widest_instructions_tell_the_kind_of_a_processor(self):
        self.assertEqual(kind_of("avx2 avx512f avx512_vnni"), "avx512f")
        self.assertEqual(kind_of("avx2"), "avx2")
        self.assertIsNone(kind_of("asimd asimddp"))

    def test_a_run_takes_the_place_of_its_own_kind_alone(self):
        other = PAGE.replace("avx2", "avx512f").replace("old", "kept")
        page = replaced(PAGE + other, "avx2", "new\n")
        self.assertEqual(page, PAGE.replace("old", "new") + other)
        self.assertEqual(replaced(page, "avx2", "new"), page)

    def test_a_page_without_a_place_for_the_kind_is_refused(self):
        with self.assertRaises(ValueError):
            replaced(PAGE, "avx512f", "new")

    def test_the_overview_begins_with_what_comes_closest_to_vectord(self):
        results = {
            "kind": "avx2",
            "date": "2026-01-02",
            "machine": {"processor": "one (avx2)", "commit": "0123456"},
            "cases": [
                case("a", far=3.0, near=0.5, never=None),
                case("b", far=2.0),
                case("c", metric="Hamming", far=9.0),
                case("d", is_made=True, far=9.0),
                case("a", k=100, far=0.5, near=4.0),
            ],
        }
        title, _, *table = overview(results).splitlines()
        self.assertEqual(title, "**Without AVX-512**: one (avx2), 2026-01-02, commit 0123456")
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
        recalls = ("0.90", "0.95", "0.99")
        titles = [f"{name} at {recall}" for name in ("a", "b") for recall in recalls]
        self.assertEqual(cells[0], ["vectord over, k = 10", *titles])
        near, far = ["0.50 (0.25)"] * 3, ["3.00 (1.50)"] * 3 + ["2.00 (1.00)"] * 3
        self.assertEqual(cells[2:4], [["near", *near, "-", "-", "-"], ["far", *far]])
        self.assertEqual(cells[4], ["never", *["-"] * 6])
        self.assertEqual(cells[5], [""])
        self.assertEqual(cells[6], ["vectord over, k = 100", *titles[:3]])
        self.assertEqual([row[0] for row in cells[8:]], ["far", "near"])

    def test_columns_are_as_wide_as_their_widest_cell(self):
        self.assertEqual(
            list(aligned(["set", "QPS"], [["sift", "1"], ["b", "1,000"]])),
            ["| set  |   QPS |", "| ---- | ----: |", "| sift |     1 |", "| b    | 1,000 |"],
        )
