"""Runs vectord and other servers side by side: see ../README.md."""

import argparse
import json
import os
import subprocess
from importlib.metadata import PackageNotFoundError

from clients import Refused
from contests import CONTESTS
from curve import LADDER
from machine import ROOT, machine
from measure import choose_ef, insert, load, restart, search, settle, sizes
from report import report
from server import Gone
from sets import Set, floats
from turns import in_turn

RESULTS = ROOT / "bench" / "results"
RECALL = 0.98
SHORT_POINTS = 10_000
# What a run needs for its targets to decide anything.
LEAST_ROUNDS = 5
# More than any server stores in a slice, one after the other.
MOST_INSERTS = 20_000
# A server that goes so is left out; anything else is a mistake of the benchmark.
FAILURES = (Gone, Refused, OSError, PackageNotFoundError, subprocess.SubprocessError)


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = machine()
    # Those of the libraries that bench/peers compares; the servers name their own.
    del about["versions"]
    runs = [hold(options, CONTESTS[name]) for name in options.sets]
    left_out = any(run.left_out for run in runs)
    whole = not options.short and not left_out and options.rounds >= LEAST_ROUNDS
    found = {"machine": about, **report(runs, RECALL, whole)}
    path = RESULTS / f"servers{'-short' if options.short else ''}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    subprocess.run(["node", ROOT / "bench/publish/print.mjs", "servers", path], check=True)
    print(f"written to {path}")
    missed = any(one["met"] is False for one in found["verdicts"])
    return 1 if missed and not options.short else 0


def hold(options, contest):
    case = contest.case
    data = Set(options.data, case, SHORT_POINTS if options.short else None)
    later = floats(data.base_file)[data.points :]
    print(f"{case.name}: {data.points:,} points of {data.dimension} values", flush=True)
    run = Run(options, contest, data, later)
    try:
        run.all_phases()
    finally:
        run.end()
    return run


def parse():
    parser = argparse.ArgumentParser(prog="bench/servers.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_POINTS:,} points, 2 rounds")
    sets = list(CONTESTS)
    parser.add_argument("--sets", default=",".join(sets), help=f"some of {','.join(sets)}")
    known = list(dict.fromkeys(kind.title for one in CONTESTS.values() for kind in one.kinds))
    parser.add_argument("--servers", default=",".join(known), help=f"some of {','.join(known)}")
    parser.add_argument("--rounds", type=int, help="of searches, 8 unless --short")
    parser.add_argument("--loads", type=int, help="of loading, inserts, restarts, 3 unless --short")
    parser.add_argument("--seconds", type=float, help="of a slice, 3 unless --short")
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    for name, whole, short in ("rounds", 8, 2), ("loads", 3, 1), ("seconds", 3, 1):
        if getattr(options, name) is None:
            setattr(options, name, short if options.short else whole)
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1")
    options.sets, options.servers = options.sets.split(","), options.servers.split(",")
    for asked, names in (options.sets, sets), (options.servers, known):
        for name in asked:
            if name not in names:
                parser.error(f"{name}: expected some of {','.join(names)}")
    return options


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
        chosen = choose_ef(server, self.data, LADDER, RECALL)
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


if __name__ == "__main__":
    raise SystemExit(main())
