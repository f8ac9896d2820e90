"""vectord and its peers, each alone and beside a program that streams through memory on another
core: see ../README.md.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil

from cores import two_cores
from losses import RIVAL, index_row, loss_row
from machine import ROOT
from participants import EF_CONSTRUCTION, M, ONE_THREAD, PARTICIPANTS, Gone
from ratios import OWN
from run import LEAST_ROUNDS, RESULTS, SHORT_POINTS, build, climb_all, leave_out, participants
from run import some_of
from sets import CASES, KS, K, Set
from turns import in_turn, one_round

SETS = "sift-100k", "minilm"
SHORT_ROUNDS = 3
# More than any cache holds.
ARRAY_MIB = 512
STREAM = [sys.executable, str(Path(__file__).with_name("stream.py")), str(ARRAY_MIB)]


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    own_core, other_core = two_cores()
    if own_core is not None:
        # The indexes are children of this process and stay on it, too.
        os.sched_setaffinity(0, {own_core})
    neighbour = Neighbour(other_core)
    tables, losses, left_out = [], [], {}
    try:
        for case in CASES:
            if case.name in options.sets and participants(case, options):
                measure(case, options, neighbour, tables, losses, left_out)
    finally:
        neighbour.end()
    rival = f"{OWN}'s loss over {RIVAL}'s"
    enough = options.rounds >= LEAST_ROUNDS and set(SETS) <= set(options.sets)
    whole = len(options.peers) == len(PARTICIPANTS) and not left_out
    found = {
        "settings": settings(options, own_core, other_core, neighbour, left_out),
        "tables": [{"title": rival, "rows": losses}, *tables],
        "verdicts": [],
        "decides": enough and whole and not options.short,
    }
    path = RESULTS / f"neighbours{'-short' if options.short else ''}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    subprocess.run(["node", ROOT / "bench/publish/print.mjs", "neighbours", path], check=True)


def parse():
    parser = argparse.ArgumentParser(prog="bench/neighbours.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    short = f"{SHORT_POINTS:,} points of each set and {SHORT_ROUNDS} rounds"
    parser.add_argument("--short", action="store_true", help=short)
    peers, sets = ([one.name for one in some] for some in (PARTICIPANTS, CASES))
    parser.add_argument("--peers", type=some_of(peers), default=peers)
    parser.add_argument("--sets", type=some_of(sets), default=list(SETS))
    parser.add_argument("--k", type=int, choices=KS, default=K)
    parser.add_argument("--rounds", type=int, help=f"{LEAST_ROUNDS} unless --short")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    if options.rounds is None:
        options.rounds = SHORT_ROUNDS if options.short else LEAST_ROUNDS
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected at least 1")
    options.build_threads = 1
    return options


class Neighbour:
    """A process that does nothing but while it is asked to work."""

    def __init__(self, core):
        command = STREAM if core is None else [*STREAM, str(core)]
        environment = {**os.environ, **ONE_THREAD}
        self.child = psutil.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        rate = self.child.stdout.readline()
        if not rate:
            raise SystemExit(f"the neighbour ended with {self.child.wait()}, see above")
        self.gib_per_second = float(rate)
        self.child.suspend()

    @contextmanager
    def at_work(self):
        self.child.resume()
        yield
        if self.child.poll() is not None:
            raise SystemExit(f"the neighbour ended with {self.child.returncode} meanwhile")
        self.child.suspend()

    def end(self):
        self.child.kill()
        self.child.wait()


def measure(case, options, neighbour, tables, losses, left_out):
    """One set: adds its table and its row of losses."""
    data = Set(options.data, case, SHORT_POINTS if options.short else None)
    print(f"{case.name}: {data.points:,} points, {case.metric}", flush=True)
    running = {}
    for peer in participants(case, options):
        try:
            running[peer.name] = build(peer, data, options)
        except Gone as gone:
            leave_out(peer.name, gone, left_out)
    climb_all(running, options.k, left_out)
    alone, beside = search_all(running, options.rounds, neighbour)
    for process in running.values():
        process.end()
    title = f"{case.name}: {data.points:,} x {data.dimension}, {case.metric}, k = {options.k}"
    rows = [index_row(name, alone[name], beside[name]) for name in running]
    tables.append({"title": title, "rows": rows})
    losses.append(loss_row(case.name, options.k, alone, beside))


def search_all(running, rounds, neighbour):
    """The rounds of each index, alone and beside the neighbour, in turn."""
    found = [{name: [] for name in running} for _ in range(2)]
    for turn in range(rounds):
        for is_beside in in_turn([False, True], turn):
            if is_beside:
                with neighbour.at_work():
                    curves = one_round(running, turn)
            else:
                curves = one_round(running, turn)
            for name, curve in curves.items():
                found[is_beside][name].append(curve)
        print(f"  round {turn + 1} of {rounds}", flush=True)
    return found


def settings(options, own_core, other_core, neighbour, left_out):
    return {
        "parameters": f"M={M}, ef_construction={EF_CONSTRUCTION}",
        "neighbour": f"adds up {ARRAY_MIB} MiB over and over, {neighbour.gib_per_second:.1f} GiB "
        "a second when nothing is measured",
        "processors": "not kept on any"
        if own_core is None
        else f"{own_core} for what is measured, {other_core} for the neighbour",
        "QPS": f"by the processor time of the process, the median of {options.rounds} rounds with "
        "the least and the most, of one pass over the queries at each breadth",
        "kept": "the median beside the neighbour over the median alone; the loss is what is "
        "missing to 1",
        **{f"{name} is left out": reason for name, reason in left_out.items()},
    }


if __name__ == "__main__":
    raise SystemExit(main())
