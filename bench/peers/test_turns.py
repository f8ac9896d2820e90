"""python -m unittest discover bench/peers"""

from collections import Counter
from unittest import TestCase

from turns import in_turn, one_round, passes_in_turn


class Index:
    """One that notes its passes in a list for all."""

    def __init__(self, name, breadths, passes):
        self.name, self.breadths, self.passes = name, breadths, passes

    def one_pass(self, ef):
        self.passes.append((self.name, ef))
        return len(self.passes)


class TurnsTest(TestCase):
    def test_each_is_first_and_follows_each_other_one_equally_often(self):
        for count in range(2, 10):
            items = list(range(count))
            times = 1 + count % 2
            orders = [in_turn(items, turn) for turn in range(times * count)]
            for order in orders:
                self.assertEqual(sorted(order), items)
            firsts = Counter(order[0] for order in orders)
            self.assertEqual(firsts, dict.fromkeys(items, times))
            steps = Counter(step for order in orders for step in zip(order, order[1:]))
            expected = {(a, b): times for a in items for b in items if a != b}
            self.assertEqual(steps, expected)

    def test_none_and_one_have_one_order(self):
        self.assertEqual(in_turn([], 3), [])
        self.assertEqual(in_turn(["one"], 3), ["one"])

    def test_all_make_a_pass_at_their_first_breadth_before_one_does_at_its_second(self):
        breadths = {"a": [10, 12, 14], "b": [40], "c": [20, 24]}
        passes = list(passes_in_turn(breadths, 0))
        expected = [("a", 10), ("a", 12), ("a", 14), ("b", 40), ("c", 20), ("c", 24)]
        self.assertEqual(sorted(passes), expected)
        steps = [breadths[name].index(ef) for name, ef in passes]
        self.assertEqual(steps, sorted(steps))

    def test_who_is_first_changes_from_round_to_round(self):
        breadths = dict.fromkeys("abcd", [10])
        firsts = {next(passes_in_turn(breadths, turn)) for turn in range(4)}
        self.assertEqual(firsts, {(name, 10) for name in breadths})

    def test_a_turn_is_one_pass_and_a_round_has_one_at_each_breadth_of_each_index(self):
        passes = []
        running = {name: Index(name, [10, 12, 14], passes) for name in "abc"}
        for turn in range(15):
            passes.clear()
            curves = one_round(running, turn)
            self.assertEqual(sorted(passes), [(name, ef) for name in "abc" for ef in (10, 12, 14)])
            names = [name for name, _ in passes]
            self.assertEqual([sorted(names[at : at + 3]) for at in (0, 3, 6)], [list("abc")] * 3)
            for name, curve in curves.items():
                self.assertEqual([names[pass_ - 1] for pass_ in curve], [name] * 3)
