"""Chroma, over HTTP."""

import base64
import json
import sys
from importlib.metadata import version
from pathlib import Path

from clients.http1 import Http1, request
from filters import FIELD, number
from payload import WithPayload, content
from server import EF_CONSTRUCTION, M, Server, free_port
from sets import K

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class Chroma(Server):
    title = "chroma"
    client = "HTTP/1.1, vectors to store in base64"
    setting = f"max_neighbors={M}, ef_construction={EF_CONSTRUCTION}, l2"
    BATCH, LOADERS = 5_000, 1

    @staticmethod
    def versions():
        return f"Chroma {version('chromadb')}"

    def prepare(self):
        self.port = free_port()

    def command(self):
        program = Path(sys.executable).with_name("chroma")
        return [program, "run", "--path", self.data, "--host", "127.0.0.1", "--port", self.port]

    def environment(self):
        return {"ANONYMIZED_TELEMETRY": "False"}

    def ready(self):
        self.json("GET", "/api/v2/heartbeat")

    def json(self, method, path, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        return json.loads(self.connect().call(request(self.port, method, path, body)))

    def create(self):
        hnsw = {"space": "l2", "ef_construction": EF_CONSTRUCTION, "max_neighbors": M}
        collection = {"name": "points", "configuration": {"hnsw": hnsw}}
        self.path = f"{COLLECTIONS}/{self.json('POST', COLLECTIONS, collection)['id']}"

    def connect(self):
        return Http1(self.port)

    def post(self, what, value):
        return request(self.port, "POST", f"{self.path}/{what}", json.dumps(value).encode())

    def insert(self, rows, vectors):
        return self.post("add", self.records(rows, vectors))

    def records(self, rows, vectors):
        embeddings = [base64.b64encode(vector.tobytes()).decode() for vector in vectors]
        return {"ids": [str(row) for row in rows], "embeddings": embeddings}

    def insert_one(self, row, vector):
        return self.insert([row], [vector])

    def set_ef(self, ef):
        super().set_ef(ef)
        self.json("PUT", self.path, {"new_configuration": {"hnsw": {"ef_search": ef}}})
        # An index that is in memory keeps the breadth that it was read with.
        self.stop()
        self.start()

    def search(self, query):
        return self.search_batch([query])

    def search_batch(self, queries):
        embeddings = [query.tolist() for query in queries]
        query = {"query_embeddings": embeddings, "n_results": K, "include": self.included()}
        return self.post("query", {**query, **self.where()})

    def included(self):
        return []

    def where(self):
        return {}

    def found(self, answer):
        return self.found_batch(answer)[0]

    def found_batch(self, answer):
        return [[int(one) for one in ids] for ids in json.loads(answer)["ids"]]


class ChromaPayload(WithPayload, Chroma):
    """With a document for each point."""

    def records(self, rows, vectors):
        return {**super().records(rows, vectors), "documents": [content(row) for row in rows]}

    def included(self):
        return ["documents", "distances"] if self.payload else []

    def contents(self, answer):
        return [(text or "").encode() for text in json.loads(answer)["documents"][0]]


class ChromaFiltered(Chroma):
    """With a number in the metadata of each point."""

    def records(self, rows, vectors):
        metadatas = [{FIELD: number(row)} for row in rows]
        return {**super().records(rows, vectors), "metadatas": metadatas}

    def where(self):
        return {"where": {FIELD: {"$lt": self.bound}}} if self.bound else {}
