"""python -m unittest discover bench/peers"""

from unittest import TestCase

from cores import apart, numbers


class CoresTest(TestCase):
    def test_the_neighbour_has_a_core_of_its_own(self):
        self.assertEqual(apart([0, 1], {0}), (0, 1))
        self.assertEqual(apart([0, 1, 2, 3], {0, 1}), (0, 2))
        self.assertEqual(apart([5, 7], set()), (5, 7))

    def test_a_machine_of_one_core_is_refused_and_told_why(self):
        for allowed, siblings in ([0], {0}), ([0, 1], {0, 1}), ([3], set()):
            with self.assertRaisesRegex(SystemExit, "needs two cores"):
                apart(allowed, siblings)

    def test_the_lists_of_linux_are_read(self):
        self.assertEqual(numbers("0\n"), {0})
        self.assertEqual(numbers("0,32-34\n"), {0, 32, 33, 34})
