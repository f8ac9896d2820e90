"""Grows a set of any size from a real one.

The first rows are the real ones. Each further one is a real vector that has moved among its own
neighbours: a random combination of the differences to the NEIGHBORS nearest is added to it, with
normal weights, so that it lies about SPREAD times as far from the real one as these do. So it stays
in the few directions in which the real set spreads there: the local dimension is kept, which noise
of the same length in all directions would raise. `grow.py check BASE QUERIES POINTS` says how well;
`grow.py make BASE POINTS FOLDER` makes the file of a set.
"""

import sys
from pathlib import Path

import numpy

NEIGHBORS = 32
# Chosen with `check`: with it, the nearest points of a query are as far away as in the real set.
SPREAD = 0.8
SEED = 1
CHUNK_ROWS = 2_000


def grown(path, points, folder):
    """Returns the file of the set in `path` grown to `points` rows. Makes it in `folder` if there is
    none yet.
    """
    path, folder = Path(path), Path(folder)
    target = folder / f"{path.name.removesuffix('.npy')}-{points}.npy"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        real = numpy.load(path)
        shape = points, real.shape[1]
        grow(real, numpy.lib.format.open_memmap(part, "w+", real.dtype, shape))
        part.rename(target)
    return target


def grow(real, rows):
    """Fills the rows: first with the real ones, then, a chunk at a time, with others that are grown
    from these.
    """
    start = min(len(real), len(rows))
    rows[:start] = real[:start]
    if start == len(rows):
        return
    vectors, random = real.astype("f4"), numpy.random.default_rng(SEED)
    neighbors = nearest(vectors)
    for at in range(start, len(rows), CHUNK_ROWS):
        chunk = rows[at : at + CHUNK_ROWS]
        chunk[:] = stored(moved(vectors, neighbors, len(chunk), random), real.dtype)


def moved(vectors, neighbors, count, random):
    """So many vectors near to random ones of these."""
    chosen = random.integers(len(vectors), size=count)
    weights = random.standard_normal((count, NEIGHBORS), "f4") * (SPREAD / NEIGHBORS**0.5)
    sums = numpy.einsum("nk,nkd->nd", weights, vectors[neighbors[chosen]])
    return vectors[chosen] * (1 - weights.sum(axis=1, keepdims=True)) + sums


def stored(vectors, kind):
    """The vectors as the real set holds them: bytes cannot be negative."""
    if kind == numpy.uint8:
        return numpy.clip(numpy.rint(vectors), 0, 255).astype(kind)
    return vectors.astype(kind)


def nearest(vectors):
    """The NEIGHBORS nearest others of each vector, but for a few that a search misses."""
    # Only who grows a set needs it.
    import hnswlib

    index = hnswlib.Index("l2", vectors.shape[1])
    index.init_index(len(vectors), M=16, ef_construction=100, random_seed=SEED)
    index.set_ef(2 * NEIGHBORS)
    index.add_items(vectors)
    found, _ = index.knn_query(vectors, NEIGHBORS + 1)
    return found[:, 1:]


def local_dimension(distances):
    """The local intrinsic dimension, as the sorted distances to the nearest points tell it: the maximum
    likelihood estimator of Amsaleg et al., 2015.
    """
    distances = distances[distances > 0]
    return -1 / numpy.mean(numpy.log(distances / distances[-1])[:-1])


def check(base, queries, points):
    """Holds a set against one of as many points that is grown from a quarter of it."""
    real, queries = numpy.load(base)[: int(points)], numpy.load(queries)[:200]
    grown_set = numpy.empty_like(real)
    quarter = real[: len(real) // 4]
    grow(quarter, grown_set)
    for name, rows in ("a quarter", quarter), ("the set", real), ("grown", grown_set):
        rows = rows.astype("f4")
        dimensions, distances = [], []
        for query in queries.astype("f4"):
            nearest_first = numpy.sort(numpy.linalg.norm(rows - query, axis=1))[:101]
            dimensions.append(local_dimension(nearest_first))
            distances.append(nearest_first[[0, 9, 99]])
        of_rank = " ".join(f"{distance:.3g}" for distance in numpy.mean(distances, axis=0))
        print(
            f"{name}: local dimension at queries {numpy.mean(dimensions):.1f}, mean distance of the "
            f"nearest, the 10th and the 100th {of_rank}",
            flush=True,
        )


def main():
    command, *arguments = sys.argv[1:] or [""]
    if command == "make" and len(arguments) == 3:
        base, points, folder = arguments
        print(grown(base, int(points), folder))
    elif command == "check" and len(arguments) == 3:
        check(*arguments)
    else:
        sys.exit("grow.py make BASE POINTS FOLDER | check BASE QUERIES POINTS")


if __name__ == "__main__":
    main()
