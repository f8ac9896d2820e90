"""What is measured of the servers of a set, in rounds."""

import subprocess
from importlib.metadata import PackageNotFoundError

from clients import Refused
from curve import LADDER
from machine import ROOT
from measure import choose_ef, insert, load, restart, search, settle, sizes
from server import Gone
from turns import in_turn

RESULTS = ROOT / "bench" / "results"
# More than any server stores in a slice, one after the other.
MOST_INSERTS = 20_000
# A server that goes so is left out; anything else is a mistake of the benchmark.
FAILURES = (Gone, Refused, OSError, PackageNotFoundError, subprocess.SubprocessError)


class Run:
    """All phases of one set, in each of which the servers take turns."""

    def __init__(self, options, contest, data, later):
        self.options, self.contest, self.data, self.later = options, contest, data, later
        self.kinds = [kind for kind in contest.kinds if kind.title in options.servers]
        self.loads = options.loads if contest.stores else 1
        self.left_out, self.running = {}, {}
        self.measured, self.facts = {}, {}

    def all_phases(self):
        self.load()
        self.attempt("choose", self.choose, 0)
        for turn in range(self.options.rounds):
            for mode in self.contest.modes:
                self.attempt(mode, lambda server: self.search(server, mode), turn)
            print(f"  round {turn + 1} of {self.options.rounds} of searches", flush=True)
        if self.contest.stores:
            self.storing()

    def storing(self):
        self.attempt("sizes", lambda server: sizes(server, self.data), 0)
        for turn in range(self.options.loads):
            self.attempt("insert", self.insert, turn)
        for turn in range(self.options.loads):
            self.attempt("restart", lambda server: restart(server, self.data.queries[0]), turn)

    def load(self):
        """Loads every server in each round into an empty folder; those of the last round stay."""
        for kind in self.kinds:
            self.measured[kind.title] = {"load": []}
        for turn in range(self.loads):
            kinds = [kind for kind in self.kinds if kind.title in self.measured]
            for kind in in_turn(kinds, turn):
                self.load_one(kind, turn == self.loads - 1)

    def load_one(self, kind, is_last):
        name = kind.title
        log = RESULTS / f"servers-{name}.log"
        log.unlink(missing_ok=True)
        server = None
        try:
            self.facts.setdefault(name, {"version": kind.versions()})
            server = kind(self.data.case.metric, self.data.dimension, log)
            server.prepare()
            server.start()
            server.create()
            figures = load(server, self.data.base)
            self.measured[name]["load"].append(figures)
            print(f"  {name}: {figures['indexed_rate']:,.0f} points/s until indexed", flush=True)
            if is_last:
                settle(server)
                self.running[name] = server
        except FAILURES as failure:
            self.leave_out(name, server, failure)
        finally:
            if server is not None and name not in self.running:
                server.remove()

    def leave_out(self, name, server, failure):
        self.left_out[name] = str(failure) or type(failure).__name__
        print(f"  {name} is left out: {self.left_out[name]}", flush=True)
        self.running.pop(name, None)
        self.measured.pop(name, None)
        if server is not None:
            server.remove()

    def attempt(self, phase, work, turn):
        """A round of a phase: `work` of every server, in the order of this turn."""
        for name in in_turn(list(self.running), turn):
            server = self.running[name]
            try:
                result = work(server)
            except FAILURES as failure:
                self.leave_out(name, server, failure)
                continue
            if result is not None:
                self.measured[name].setdefault(phase, []).append(result)

    def choose(self, server):
        chosen = choose_ef(server, self.data, LADDER, self.contest.recall)
        self.facts[server.title].update(chosen)
        print(f"  {server.title}: recall {chosen['recall']:.4f} at ef {chosen['ef']}", flush=True)

    def search(self, server, mode):
        if mode == "batches" and server.search_batch is None:
            return None
        return search(server, self.data, self.contest.modes[mode], self.options.seconds)

    def insert(self, server):
        """All servers store the same vectors, each slice its own."""
        done = len(self.measured[server.title].get("insert", []))
        count = len(self.later) // self.options.loads
        part = range(done * count, (done + 1) * count)
        rows = range(self.data.points + part.start, self.data.points + part.stop)
        vectors = self.later[part.start : part.stop][:MOST_INSERTS]
        return insert(server, rows, vectors, self.options.seconds)

    def end(self):
        for server in self.running.values():
            server.remove()
