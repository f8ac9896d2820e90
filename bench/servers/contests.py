"""The sets of the benchmark: which servers each compares, and what it measures of them."""

from dataclasses import dataclass, replace

from adapters.chroma import Chroma, ChromaPayload
from adapters.pgvector import Pgvector, PgvectorPayload
from adapters.qdrant import QdrantEdge
from adapters.redis import Redis, RedisF32, RedisOneThread
from adapters.vectord import Vectord, VectordPayload
from adapters.weaviate import Weaviate, WeaviatePayload
from measure import BATCH
from payload import CONTENT_BYTES
from sets import CASES, Case
from targets import MINILM, PAYLOAD, SIFT

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
}
