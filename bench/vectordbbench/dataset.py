"""Sets of the data folder in the form of VectorDBBench's custom data sets."""

from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
from pyarrow.parquet import write_table


@dataclass(frozen=True)
class Set:
    name: str
    base: str
    queries: str
    neighbours: str
    # As VectorDBBench calls it.
    metric: str


SETS = {
    one.name: one
    for one in (
        Set("minilm", "minilm_base.f16", "minilm_query.f16", "minilm_gt_cosine", "COSINE"),
        Set("sift", "sift_base.u8", "sift_query.u8", "sift_gt_l2", "L2"),
    )
}


def convert(one, data, folder):
    """Writes the files of a set into a folder; returns what a case says of the set."""
    base, queries, neighbours = (
        numpy.load(Path(data) / f"{file}.npy") for file in (one.base, one.queries, one.neighbours)
    )
    write(folder / "train.parquet", "emb", base.astype("f4"))
    write(folder / "test.parquet", "emb", queries.astype("f4"))
    write(folder / "neighbors.parquet", "neighbors_id", neighbours.astype("i8"))
    size, dimension = base.shape
    return {
        "name": one.name,
        "dir": str(folder),
        "size": size,
        "dim": dimension,
        "metric_type": one.metric,
    }


def write(path, column, rows):
    write_table(pyarrow.table({"id": numpy.arange(len(rows)), column: list(rows)}), path)
