"""python -m unittest discover bench/peers"""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase, skipUnless

try:
    import numpy
except ImportError:
    numpy = None
else:
    from texts import made, name_of


@skipUnless(numpy, "needs numpy, which bench/.venv has")
class TextsTest(TestCase):
    def test_the_two_models_have_equal_weight_where_they_are_joined(self):
        with TemporaryDirectory() as name:
            folder = Path(name)
            for part in "base", "query":
                numpy.save(folder / f"minilm_{part}.f16.npy", numpy.array([[3, 4]], "f2"))
                # As if it had been made before.
                numpy.save(folder / f"use_{part}.f16.npy", numpy.array([[0, 1, 0]], "f2"))
            for path in made("joined", folder, folder):
                vectors = numpy.load(path)
                self.assertEqual(vectors.dtype, "f2")
                numpy.testing.assert_allclose(vectors, [[0.6, 0.8, 0, 1, 0]], rtol=1e-3)

    def test_the_name_of_a_package_begins_its_text(self):
        self.assertEqual(name_of("sasview: Analysis: a suite"), "sasview")
