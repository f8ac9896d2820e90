"""Weaviate, over gRPC; its schema over HTTP."""

import json
import os
import time
from pathlib import Path
from uuid import UUID

import filters
from clients import http1
from clients.grpc import Grpc, request
from clients.http1 import Http1
from clients.protobuf import double, field, fields, number, within
from filters import FIELD
from payload import WithPayload, content
from server import EF_CONSTRUCTION, LOOK_SECONDS, M, Server, free_port
from sets import K

PORTS = (
    "GRPC_PORT",
    "RAFT_PORT",
    "RAFT_INTERNAL_RPC_PORT",
    "CLUSTER_GOSSIP_BIND_PORT",
    "CLUSTER_DATA_BIND_PORT",
)
COLLECTION = "Points"
# The operator of a filter.
LESS_THAN = 5
# Kept beside a point, and in no index.
CONTENT = {
    "name": "content",
    "dataType": ["text"],
    "indexFilterable": False,
    "indexSearchable": False,
}


class Weaviate(Server):
    title = "weaviate"
    client = "gRPC"
    setting = f"maxConnections={M}, efConstruction={EF_CONSTRUCTION}, l2-squared"
    BATCH, LOADERS = 1_000, 2
    PROPERTIES = []

    @staticmethod
    def program():
        return Path(os.environ["WEAVIATE"])

    @classmethod
    def versions(cls):
        return f"Weaviate {os.environ['WEAVIATE_VERSION']}"

    def prepare(self):
        self.port = free_port()
        self.ports = {name: free_port() for name in PORTS}

    def command(self):
        address = ["--scheme", "http", "--host", "127.0.0.1", "--port", self.port]
        return [self.program(), *address]

    def environment(self):
        return {
            "PERSISTENCE_DATA_PATH": str(self.data),
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "CLUSTER_HOSTNAME": "node1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
            **{name: str(port) for name, port in self.ports.items()},
        }

    def ready(self):
        self.rest("GET", "/v1/.well-known/ready")
        self.connect()

    def rest(self, method, path, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        answer = Http1(self.port).call(http1.request(self.port, method, path, body))
        return json.loads(answer) if answer else None

    def create(self):
        hnsw = {"distance": "l2-squared", "maxConnections": M, "efConstruction": EF_CONSTRUCTION}
        self.schema = {
            "class": COLLECTION,
            "vectorizer": "none",
            "vectorIndexType": "hnsw",
            "vectorIndexConfig": hnsw,
            "properties": self.PROPERTIES,
        }
        self.rest("POST", "/v1/schema", self.schema)

    def connect(self):
        return Grpc(self.ports["GRPC_PORT"])

    def call(self, method, message):
        port = self.ports["GRPC_PORT"]
        return request(port, f"/weaviate.v1.Weaviate/{method}", message)

    def insert(self, rows, vectors):
        points = (
            field(1, str(UUID(int=row)).encode())
            + field(3, self.properties(row))
            + field(4, COLLECTION.encode())
            + field(6, vector.tobytes())
            for row, vector in zip(rows, vectors)
        )
        return self.call("BatchObjects", b"".join(field(1, point) for point in points))

    def properties(self, row):
        return b""

    def insert_one(self, row, vector):
        return self.insert([row], [vector])

    def learn(self, rows, answer):
        for failure in fields(answer, 2):
            raise ValueError(f"weaviate has refused a point: {failure}")

    def index(self):
        """Points are indexed when an insert is answered, unless a queue of them says otherwise."""
        while any(self.queues()):
            time.sleep(LOOK_SECONDS)
        return time.monotonic()

    def queues(self):
        for node in self.rest("GET", "/v1/nodes?output=verbose")["nodes"]:
            yield from (shard.get("vectorQueueLength", 0) for shard in node["shards"] or [])

    def set_ef(self, ef):
        super().set_ef(ef)
        schema = self.rest("GET", f"/v1/schema/{COLLECTION}")
        schema["vectorIndexConfig"]["ef"] = ef
        self.rest("PUT", f"/v1/schema/{COLLECTION}", schema)

    def search(self, query):
        return self.call(
            "Search",
            field(1, COLLECTION.encode())
            + self.included()
            + number(30, K)
            + field(43, field(4, query.tobytes()))
            + number(100, 1)
            + number(101, 1)
            + number(102, 1),
        )

    def included(self):
        """Of the results, the identifiers alone."""
        return field(21, number(1, 1))

    search_batch = None

    def found(self, answer):
        results = (next(fields(one, 2)) for one in fields(answer, 2))
        return [UUID(next(fields(one, 1)).decode()).int for one in results]


class WeaviatePayload(WithPayload, Weaviate):
    """With a text for each point, which is neither tokenized nor indexed."""

    PROPERTIES = [CONTENT]

    def properties(self, row):
        value = field(3, content(row).encode())
        return field(1, field(1, field(1, b"content") + field(2, value)))

    def included(self):
        # Without a list of properties an answer has all.
        if not self.payload:
            return field(20, b"") + super().included()
        return field(20, field(1, b"content")) + field(21, number(1, 1) + number(5, 1))

    def contents(self, answer):
        return [within(one, 1, 11, 1, 2, 13) for one in fields(answer, 2)]


class WeaviateFiltered(Weaviate):
    """With a number for each point, in both indexes that Weaviate has for numbers."""

    setting = f"{Weaviate.setting}, indexFilterable and indexRangeFilters"
    PROPERTIES = [
        {
            "name": FIELD,
            "dataType": ["int"],
            "indexFilterable": True,
            "indexRangeFilters": True,
            "indexSearchable": False,
        }
    ]

    def properties(self, row):
        value = field(2, double(2, filters.number(row)))
        return field(1, field(1, field(1, FIELD.encode()) + value))

    def included(self):
        if not self.bound:
            return super().included()
        rule = number(1, LESS_THAN) + number(5, self.bound) + field(20, field(1, FIELD.encode()))
        return super().included() + field(40, rule)
