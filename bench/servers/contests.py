"""The sets of the benchmark: which servers each compares, and what it measures of them."""

from dataclasses import dataclass, replace
from typing import Optional

from adapters.chroma import Chroma, ChromaFiltered, ChromaPayload
from adapters.pgvector import Pgvector, PgvectorFiltered, PgvectorPayload
from adapters.qdrant import QdrantEdge
from adapters.redis import Redis, RedisF32, RedisFiltered, RedisOneThread, RedisOneThreadFiltered
from adapters.vectord import Vectord, VectordFiltered, VectordPayload
from adapters.weaviate import Weaviate, WeaviateFiltered, WeaviatePayload
from measure import BATCH
from payload import CONTENT_BYTES
from sets import CASES, Case
from targets import MINILM, PAYLOAD, SIFT

SIFT_FILTERS, MINILM_FILTERS = f"{SIFT}-filters", f"{MINILM}-filters"
FILTERS = {
    "modes": {},
    "stores": False,
    "besides": ", each point with a number, loaded once",
    "recall": 0.95,
    "filters": True,
    # Some servers take milliseconds for each.
    "most_queries": 200,
}

CASE = {case.name: case for case in CASES}
# Connections, queries in a request, and whether the answers have a payload.
IDS = {"one": (1, 1, False), "eight": (8, 1, False), "batches": (8, BATCH, False)}
PAYLOADS = {
    "one": (1, 1, False),
    "one-payload": (1, 1, True),
    "eight": (8, 1, False),
    "eight-payload": (8, 1, True),
}


@dataclass(frozen=True)
class Contest:
    case: Case
    kinds: list
    modes: dict
    # Whether loads, single inserts and restarts are measured; each server is loaded once if not.
    stores: bool = True
    # What the report says of the points.
    besides: str = ""
    # The least recall@10 of all servers.
    recall: float = 0.98
    # Whether searches are measured under each filter of ../peers/filters.py, in place of the modes.
    filters: bool = False
    most_queries: Optional[int] = None


CONTESTS = {
    SIFT: Contest(CASE["sift-100k"], [Vectord, Weaviate, Pgvector, Chroma], IDS),
    # Some of the vectors stay for the single inserts.
    MINILM: Contest(
        replace(CASE["minilm"], name=MINILM, most_points=40_000),
        [Vectord, Redis, RedisF32, RedisOneThread],
        IDS,
    ),
    PAYLOAD: Contest(
        replace(CASE["sift-100k"], name=PAYLOAD),
        [VectordPayload, WeaviatePayload, PgvectorPayload, ChromaPayload, QdrantEdge],
        PAYLOADS,
        stores=False,
        besides=f", each point with {CONTENT_BYTES:,} bytes of text, loaded once",
    ),
    SIFT_FILTERS: Contest(
        replace(CASE["sift-100k"], name=SIFT_FILTERS),
        [VectordFiltered, WeaviateFiltered, PgvectorFiltered, ChromaFiltered],
        **FILTERS,
    ),
    MINILM_FILTERS: Contest(
        replace(CASE["minilm"], name=MINILM_FILTERS, most_points=40_000),
        [VectordFiltered, RedisFiltered, RedisOneThreadFiltered],
        **FILTERS,
    ),
}
