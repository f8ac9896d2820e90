"""Runs vectord and other servers side by side: see ../README.md."""

import argparse
import json
import os
import subprocess

from contests import CONTESTS
from filtered import FilteredRun
from machine import ROOT, machine
from phases import RESULTS, Run
from report import report
from sets import Set, floats

SHORT_POINTS = 10_000
# What a run needs for its targets to decide anything.
LEAST_ROUNDS = 5


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = machine()
    # Those of the libraries that bench/peers compares; the servers name their own.
    del about["versions"]
    runs = [hold(options, CONTESTS[name]) for name in options.sets]
    left_out = any(run.left_out for run in runs)
    whole = not options.short and not left_out and options.rounds >= LEAST_ROUNDS
    found = {"machine": about, **report(runs, whole)}
    page = "filter-servers" if options.filters else "servers"
    path = RESULTS / f"{page}{'-short' if options.short else ''}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    subprocess.run(["node", ROOT / "bench/publish/print.mjs", page, path], check=True)
    print(f"written to {path}")
    missed = any(one["met"] is False for one in found["verdicts"])
    return 1 if missed and not options.short else 0


def hold(options, contest):
    case = contest.case
    points = SHORT_POINTS if options.short else None
    data = Set(options.data, case, points, contest.most_queries)
    later = floats(data.base_file)[data.points :]
    print(f"{case.name}: {data.points:,} points of {data.dimension} values", flush=True)
    run = (FilteredRun if contest.filters else Run)(options, contest, data, later)
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
    parser.add_argument("--filters", action="store_true", help="the sets with filters")
    sets = list(CONTESTS)
    parser.add_argument("--sets", help=f"some of {','.join(sets)}; all without filters if left out")
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
    chosen = [name for name, one in CONTESTS.items() if one.filters == options.filters]
    options.sets = options.sets.split(",") if options.sets else chosen
    options.servers = options.servers.split(",")
    for asked, names in (options.sets, sets), (options.servers, known):
        for name in asked:
            if name not in names:
                parser.error(f"{name}: expected some of {','.join(names)}")
    if any(name not in chosen for name in options.sets):
        parser.error(f"--filters is for the sets with filters alone: {','.join(options.sets)}")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
