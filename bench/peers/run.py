"""Runs vectord and its peers side by side on real sets: see ../README.md."""

import argparse
import json
import os
from datetime import date
from pathlib import Path
from statistics import median

from curve import TARGETS, at_recall, fastest
from machine import ROOT, features, machine
from participants import EF_CONSTRUCTION, M, PARTICIPANTS, Gone, Process
from plot import draw
from ratios import OWN, figures, ratio, told
from report import kind_of, overview, replaced, section
from sets import CASES, KS, MADE, REAL, Set
from turns import in_turn, one_round
from verdicts import builders, verdicts

RESULTS = ROOT / "bench" / "results"
PUBLISHED = ROOT / "docs" / "performance"
SHORT_POINTS = 10_000
LEAST_ROUNDS, LEAST_BUILDS = 15, 3


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "settings": {
            "parameters": f"M={M}, ef_construction={EF_CONSTRUCTION}",
            "interleaved rounds": f"{options.builds} of builds that are held against a target, "
            f"1 of other builds, {options.rounds} of searches, of one pass over the queries at "
            "each breadth",
            "threads": f"{options.build_threads} to build, 1 to search",
            "queries per second": "by the processor time of the process, of the pass of least "
            "time at each breadth, with the median of the rounds in parentheses; ratios too",
            "MiB": "what the process grows by while it builds; for vectord that is its codes and "
            "links, and the f32 vectors are added",
        },
        "kind": kind_of(features()),
        "short": options.short,
        "cases": [],
    }
    for case in CASES:
        if case.name in options.sets and participants(case, options):
            data = Set(options.data, case, SHORT_POINTS if options.short else None)
            results["cases"] += measure(data, options)
    stem = RESULTS / ("peers-short" if options.short else "peers")
    stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    stem.with_suffix(".md").write_text(section(results))
    draw(results, stem, ("svg", "png"))
    print(section(results))
    print(f"written to {stem}.md, .json, .svg and .png")
    if options.publish:
        publish(results)
    return 1 if not options.short and missed(results) else 0


def publish(results):
    """Writes what the documentation shows in place of the last run on this kind of processor: all
    but the single rounds.
    """
    for case in results["cases"]:
        for index in case["indexes"].values():
            del index["rounds"]
    kind, data = results["kind"], PUBLISHED / "peers.json"
    runs = {**json.loads(data.read_text()), kind: results}
    data.write_text(json.dumps(runs, indent=1) + "\n")
    for name, block in ("peers.md", section(results)), ("README.md", overview(results)):
        page = PUBLISHED / name
        page.write_text(replaced(page.read_text(), kind, block))
    draw(results, PUBLISHED / "peers", ("svg",))
    print(f"published in {PUBLISHED}")


def missed(results):
    """Whether a target is missed for certain; one whose peer did not run is not."""
    return any(one["met"] is False for case in results["cases"] for one in case["verdicts"])


def parse():
    parser = argparse.ArgumentParser(prog="bench/peers.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    short = f"{SHORT_POINTS:,} points of each set and 3 rounds"
    parser.add_argument("--short", action="store_true", help=short)
    for option, choices in ("--peers", PARTICIPANTS), ("--sets", CASES):
        known = [one.name for one in choices]
        parser.add_argument(option, type=some_of(known), help=f"some of {','.join(known)}")
    numbers = list(map(str, KS))
    parser.add_argument(
        "--k",
        type=some_of(numbers),
        default=numbers,
        help=f"how many results a search has, some of {','.join(numbers)}",
    )
    parser.add_argument("--rounds", type=int, help=f"of searches, {LEAST_ROUNDS} unless --short")
    parser.add_argument(
        "--builds",
        type=int,
        help=f"rounds of builds that are held against a target, {LEAST_BUILDS} unless --short",
    )
    parser.add_argument("--build-threads", type=int, default=1)
    parser.add_argument(
        "--publish", action="store_true", help=f"write to {PUBLISHED.relative_to(ROOT)} as well"
    )
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    rounds, builds = (3, 1) if options.short else (LEAST_ROUNDS, LEAST_BUILDS)
    options.k = [k for k in KS if str(k) in options.k]
    options.rounds = rounds if options.rounds is None else options.rounds
    options.builds = builds if options.builds is None else options.builds
    if min(options.rounds, options.builds, options.build_threads) < 1:
        parser.error("--rounds, --builds and --build-threads are at least 1")
    whole = options.peers is None and options.sets is None and options.k == list(KS)
    if options.sets is None:
        chosen = REAL + MADE if options.publish else REAL
        options.sets = [case.name for case in chosen]
    enough = options.rounds >= LEAST_ROUNDS and options.builds >= LEAST_BUILDS
    if options.publish and (options.short or not whole or not enough):
        least = f"{LEAST_ROUNDS} rounds of searches and {LEAST_BUILDS} of builds"
        parser.error(f"--publish chooses peers, sets and k, whole, in at least {least}")
    if options.publish and kind_of(features()) is None:
        parser.error("--publish is for a processor with AVX2 or AVX-512")
    return options


def some_of(known):
    """A parser of names with commas between them."""

    def names(text):
        for name in text.split(","):
            if name not in known:
                message = f"{name}: expected some of {','.join(known)}"
                raise argparse.ArgumentTypeError(message)
        return text.split(",")

    return names


def measure(data, options):
    """A case for each k of one set: builds, then searches, in rounds in which all take turns."""
    print(f"{data.case.name}: {data.points:,} points, {data.case.metric}", flush=True)
    left_out = {}
    builds, running = build_all(data, options, left_out)
    cases = []
    for k in options.k:
        climb_all(running, k, left_out)
        if not running:
            raise SystemExit(f"no index is left: see {RESULTS}/*.log")
        rounds = search_all(running, options.rounds)
        cases.append(told_of(data, k, builds, rounds, dict(left_out)))
    for process in running.values():
        process.end()
    return cases


def climb_all(running, k, left_out):
    """Has all search for the k nearest, at breadths of their own."""
    print(f"  the {k} nearest", flush=True)
    for name, process in list(running.items()):
        try:
            process.set_k(k)
        except Gone as gone:
            leave_out(name, gone, left_out)
            del running[name]


def told_of(data, k, builds, rounds, left_out):
    """What was found of searches for the k nearest."""
    indexes = {name: {"builds": builds[name], "rounds": rounds[name]} for name in rounds}
    case = {
        "name": data.case.name,
        "metric": data.case.metric,
        "points": data.points,
        "dimension": data.dimension,
        "queries": len(data.queries),
        "k": k,
        "is_made": data.case in MADE,
        "indexes": {
            name: {**index, **evaluate(index, None if name == OWN else indexes.get(OWN))}
            for name, index in indexes.items()
        },
        "left_out": left_out,
    }
    case["verdicts"] = verdicts(case)
    return case


def build_all(data, options, left_out):
    """Builds every index, and those held against a target as often as asked for. The processes of
    the last round, in which all take part, stay.
    """
    wanted = participants(data.case, options)
    repeated = builders(data.case.name)
    builds = {peer.name: [] for peer in wanted}
    running = {}
    for turn in range(options.builds):
        last = turn == options.builds - 1
        for peer in in_turn([peer for peer in wanted if last or peer.name in repeated], turn):
            if peer.name in left_out:
                continue
            try:
                process = build(peer, data, options)
            except Gone as gone:
                leave_out(peer.name, gone, left_out)
                continue
            builds[peer.name].append(process.facts)
            if peer.name == OWN and OWN in repeated and options.build_threads == 1:
                process.facts["two_threads_seconds"] = time_two_threads(peer, data, options)
            if last:
                running[peer.name] = process
            else:
                process.end()
    # In their usual order again.
    return builds, {name: running[name] for name in builds if name in running}


def leave_out(name, gone, left_out):
    left_out[name] = str(gone)
    print(f"  {name} is left out: {gone}", flush=True)


def participants(case, options):
    def takes_part(peer):
        if options.peers is None:
            return peer.leads or case in REAL
        return peer.name in options.peers

    return [peer for peer in PARTICIPANTS if takes_part(peer) and case.metric in peer.metrics]


def build(peer, data, options):
    process = Process(peer, options.program, data, RESULTS / f"{peer.name}.log")
    process.build(options.build_threads)
    facts = process.facts
    seconds, cpu_seconds = facts["build_seconds"], facts["build_cpu_seconds"]
    print(f"  {peer.name}: built in {seconds:.1f} s, {cpu_seconds:.1f} s of CPU", flush=True)
    return process


def time_two_threads(peer, data, options):
    """The seconds that go by while two threads build."""
    process = Process(peer, options.program, data, RESULTS / f"{peer.name}-two-threads.log")
    process.build(2)
    process.end()
    seconds = process.facts["build_seconds"]
    print(f"  {peer.name}: built by two threads in {seconds:.1f} s", flush=True)
    return seconds


def search_all(running, rounds):
    """A curve of every index in every round, of one pass at each breadth."""
    curves = {name: [] for name in running}
    for turn in range(rounds):
        for name, curve in one_round(running, turn).items():
            curves[name].append(curve)
        print(f"  round {turn + 1} of {rounds}", flush=True)
    return curves


def evaluate(index, own):
    """What the rounds of an index say, alone and, unless that is None, of vectord over it."""
    rounds = index["rounds"]

    def over(recall=None):
        return own and ratio(figures(own, recall), figures(index, recall))

    counted = rounds[0][0]["evaluations"] is not None
    return {
        "qps": {str(target): told(figures(index, target)) for target in TARGETS},
        "ratios": {str(target): over(target) for target in TARGETS},
        "build_cpu_ratio": over(),
        "work": median(point["work"] for curve in rounds for point in curve),
        "evaluations": at_recall(rounds[0], 0.95, "evaluations") if counted else None,
        "curve": [
            {**best, "median": median(point["qps"] for point in points)}
            for best, *points in zip(fastest(rounds), *rounds)
        ],
    }


if __name__ == "__main__":
    raise SystemExit(main())
