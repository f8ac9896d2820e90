"""python -m unittest discover bench/peers"""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase, skipUnless

try:
    import numpy
except ImportError:
    numpy = None
else:
    from sets import Case, Set


@skipUnless(numpy, "needs numpy, which bench/.venv has")
class SetsTest(TestCase):
    def setUp(self):
        """150 points at 1, 2 and so on from the query."""
        self.folder = TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        points = numpy.zeros((150, 2), "f4")
        points[:, 0] = 1 + numpy.arange(150)
        numpy.save(Path(self.folder.name) / "base.npy", points)
        numpy.save(Path(self.folder.name) / "query.npy", numpy.zeros((1, 2), "f4"))

    def whole(self):
        return Set(self.folder.name, Case("line", "Euclidean", "base.npy", "query.npy"), None)

    def test_recall_is_of_as_many_as_are_asked_for(self):
        half = [*range(50), *range(100, 150)]
        self.assertEqual(self.whole().recall([half]), 1)
        self.assertEqual(self.whole().recall([half], 100), 0.5)
        self.assertEqual(self.whole().recall([list(range(100))], 100), 1)

    def test_of_fewer_points_all_are_right(self):
        some = self.whole().among(numpy.arange(150) < 20)
        self.assertEqual(some.recall([list(range(20))], 100), 1)
        self.assertEqual(some.recall([list(range(10, 30))], 100), 0.5)
