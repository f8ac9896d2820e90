"""vectord, over gRPC."""

import json
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import filters
from clients.grpc import Grpc, request
from clients.protobuf import double, field, fields, number, within
from filters import FIELD
from payload import WithPayload, content
from server import EF_CONSTRUCTION, M, Server
from sets import K

ROOT = Path(__file__).resolve().parents[3]
ADDRESS = re.compile(r"^ *gRPC +\S+:(\d+)$", re.MULTILINE)

SIMILARITIES = {"Euclidean": 0, "Cosine": 3}
PAYLOAD = number(1, 1) + field(2, b"x")

LOOK_SECONDS = 0.02
# Linking has ended when its threads have used no processor time for so long.
QUIET_SECONDS = 1


class Vectord(Server):
    title = "vectord"
    client = "gRPC"
    SERVICE = "vectordb.VectorDB"
    setting = f"HNSW_M={M}, HNSW_EF_CONSTRUCTION={EF_CONSTRUCTION}, WARM_METRICS=the metric"
    BATCH, LOADERS = 1_000, 2

    @staticmethod
    def versions():
        package = json.loads((ROOT / "package.json").read_text())
        node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
        return f"vectord {package['version']} on Node.js {node}"

    def command(self):
        return ["node", ROOT / "dist" / "main.js"]

    def environment(self):
        return {
            "DATA_PATH": str(self.data),
            "DIMENSION": str(self.dimension),
            "HTTP_PORT": "0",
            "GRPC_PORT": "0",
            "HNSW_M": str(M),
            "HNSW_EF_CONSTRUCTION": str(EF_CONSTRUCTION),
            "WARM_METRICS": self.metric.lower(),
        }

    def ready(self):
        # The start block comes last, and each start has one in the log.
        self.port = int(ADDRESS.findall(self.log.read_text())[self.starts - 1])
        self.connect()
        keys = json.loads((self.data / "keys.json").read_text())["keys"]
        key = next(one["key"] for one in keys if one["role"] == "readwrite")
        self.metadata = [("authorization", key)]

    def launch(self):
        self.starts = len(ADDRESS.findall(self.log.read_text())) + 1 if self.log.exists() else 1
        super().launch()

    def create(self):
        self.rows = {}

    def connect(self):
        return Grpc(self.port)

    def call(self, method, message):
        return request(self.port, f"/{self.SERVICE}/{method}", message, self.metadata)

    def insert(self, rows, vectors):
        points = (field(1, field(1, one.tobytes())) + field(2, PAYLOAD) for one in vectors)
        return self.call("InsertVectorsBatch", b"".join(field(1, point) for point in points))

    def insert_one(self, row, vector):
        point = field(1, field(1, vector.tobytes())) + field(2, PAYLOAD)
        return self.call("InsertVector", point)

    def learn(self, rows, answer):
        self.rows.update(zip(self.ids(answer), rows))

    def index(self):
        """Seen from outside, in the processor time of the threads that link."""
        ticks, changed = self.linking_ticks(), time.monotonic()
        while time.monotonic() - changed < QUIET_SECONDS:
            time.sleep(LOOK_SECONDS)
            if (now := self.linking_ticks()) != ticks:
                ticks, changed = now, time.monotonic()
        return changed

    def linking_ticks(self):
        ticks = 0
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):
                name, rest = (thread / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
                if name.startswith("link-"):
                    # utime and stime, the 14th and 15th field of the line.
                    ticks += sum(int(value) for value in rest.split(" ")[11:13])
        return ticks

    def query(self, vector):
        similarity = number(2, SIMILARITIES[self.metric])
        query = field(1, field(1, vector.tobytes())) + similarity
        return query + number(3, K) + number(4, self.ef)

    def search(self, query):
        return self.call("SearchPoints", self.query(query))

    def search_batch(self, queries):
        message = b"".join(field(1, self.query(query)) for query in queries)
        return self.call("SearchPointsBatch", message)

    def found(self, answer):
        return [self.rows.get(one, -1) for one in self.ids(answer)]

    def found_batch(self, answer):
        return [self.found(one) for one in fields(answer, 1)]

    @staticmethod
    def ids(answer):
        """The identifiers of a list of points: a string in a UUID in a PointID."""
        return [within(point, 1, 1) for point in fields(answer, 1)]


class VectordV1(Vectord):
    """Through the service whose points have all their parts."""

    SERVICE = "vectord.v1.PointsService"

    def insert(self, rows, vectors):
        points = (field(2, vector.tobytes()) + self.part(row) for row, vector in zip(rows, vectors))
        return self.call("Upsert", b"".join(field(1, point) for point in points))

    insert_one = search_batch = None

    def learn(self, rows, answer):
        self.rows.update(zip(fields(answer, 1), rows))

    def search(self, query):
        # The similarities are those of the other service, one further.
        similarity = number(3, SIMILARITIES[self.metric] + 1)
        query = field(1, query.tobytes()) + similarity + number(4, K) + number(5, self.ef)
        return self.call("Search", field(1, query + self.asked()))

    @staticmethod
    def ids(answer):
        return [within(point, 1) for point in fields(within(answer, 1), 1)]


class VectordPayload(WithPayload, VectordV1):
    """With a content for each point."""

    def part(self, row):
        return field(3, content(row).encode())

    def asked(self):
        return field(8, number(1, 1) + number(3, 1) if self.payload else b"")

    def contents(self, answer):
        return [within(point, 3) for point in fields(within(answer, 1), 1)]


class VectordFiltered(VectordV1):
    """With a number in the metadata of each point."""

    def part(self, row):
        return field(5, json.dumps({FIELD: filters.number(row)}).encode())

    def asked(self):
        if not self.bound:
            return b""
        condition = field(1, FIELD.encode()) + field(6, double(2, self.bound))
        return field(9, field(4, condition))
