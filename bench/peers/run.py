"""Runs vectord and its peers side by side on real sets: see ../README.md."""

import argparse
import json
import os
from datetime import date
from pathlib import Path
from statistics import median

from curve import TARGETS, at_recall, breadths, quotient, summary
from machine import ROOT, machine
from participants import EF_CONSTRUCTION, M, PARTICIPANTS, Gone, Process
from plot import draw
from report import table
from sets import CASES, REAL, Set
from turns import in_turn
from verdicts import OWN, builders, verdicts

RESULTS = ROOT / "bench" / "results"
PUBLISHED = ROOT / "docs" / "performance"
SHORT_POINTS = 10_000
LEAST_ROUNDS = 7
# What differs from round to round at a point of a curve.
MEASURED = "qps", "work"


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "settings": {
            "parameters": f"M={M}, ef_construction={EF_CONSTRUCTION}",
            "interleaved rounds": f"{options.builds} of builds that are held against a target, "
            f"1 of other builds, {options.rounds} of searches",
            "threads": f"{options.build_threads} to build, 1 to search",
            "queries per second": "by the processor time of the process",
            "MiB": "what the process grows by while it builds; for vectord that is its codes and "
            "links, and the f32 vectors are added",
        },
        "short": options.short,
        "cases": [],
    }
    for case in CASES:
        if case.name in options.sets and participants(case, options):
            data = Set(options.data, case, SHORT_POINTS if options.short else None)
            results["cases"].append(measure(data, options))
    stem = RESULTS / ("peers-short" if options.short else "peers")
    write(results, stem)
    draw(results, stem, ("svg", "png"))
    print(table(results))
    print(f"written to {stem}.md, .json, .svg and .png")
    if options.publish:
        publish(results)
    return 1 if not options.short and missed(results) else 0


def write(results, stem):
    stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    stem.with_suffix(".md").write_text(table(results))


def publish(results):
    """Writes what the README shows: all but the single rounds, which the spreads stand for."""
    for case in results["cases"]:
        for index in case["indexes"].values():
            del index["rounds"]
    PUBLISHED.mkdir(parents=True, exist_ok=True)
    write(results, PUBLISHED / "peers")
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
    for option, choices, chosen in (
        ("--peers", PARTICIPANTS, PARTICIPANTS),
        ("--sets", CASES, REAL),
    ):
        known, default = ([one.name for one in some] for some in (choices, chosen))
        parser.add_argument(
            option, type=some_of(known), default=default, help=f"some of {','.join(known)}"
        )
    parser.add_argument("--rounds", type=int, help=f"of searches, {LEAST_ROUNDS} unless --short")
    parser.add_argument(
        "--builds",
        type=int,
        help=f"rounds of builds that are held against a target, {LEAST_ROUNDS} unless --short",
    )
    parser.add_argument("--build-threads", type=int, default=1)
    parser.add_argument(
        "--publish", action="store_true", help=f"write to {PUBLISHED.relative_to(ROOT)} as well"
    )
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    least = 3 if options.short else LEAST_ROUNDS
    options.rounds = least if options.rounds is None else options.rounds
    options.builds = (1 if options.short else least) if options.builds is None else options.builds
    if min(options.rounds, options.builds, options.build_threads) < 1:
        parser.error("--rounds, --builds and --build-threads are at least 1")
    whole = len(options.peers) == len(PARTICIPANTS) and options.sets == [case.name for case in REAL]
    enough = min(options.rounds, options.builds) >= LEAST_ROUNDS
    if options.publish and (options.short or not whole or not enough):
        parser.error(f"--publish is for all peers and sets whole, in {LEAST_ROUNDS} rounds or more")
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
    """Everything about one set: builds, then searches, in rounds in which all take turns."""
    print(f"{data.case.name}: {data.points:,} points, {data.case.metric}", flush=True)
    left_out = {}
    builds, running = build_all(data, options, left_out)
    if not running:
        raise SystemExit(f"no index is left: see {RESULTS}/*.log")
    rounds = search_all(running, options.rounds)
    for process in running.values():
        process.end()
    baseline = next(name for name in ("hnswlib", "hnsw_rs", *running) if name in running)
    case = {
        "name": data.case.name,
        "metric": data.case.metric,
        "points": data.points,
        "dimension": data.dimension,
        "queries": len(data.queries),
        "baseline": baseline,
        "indexes": {
            name: evaluate(builds[name], rounds[name], builds[baseline], rounds[baseline])
            for name in running
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
                if last:
                    process.breadths = breadths(process.recall)
            except Gone as gone:
                left_out[peer.name] = str(gone)
                print(f"  {peer.name} is left out: {gone}", flush=True)
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


def participants(case, options):
    named = [peer for peer in PARTICIPANTS if peer.name in options.peers]
    return [peer for peer in named if case.metric in peer.metrics]


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
    """A curve of every index in every round."""
    curves = {name: [] for name in running}
    for turn in range(rounds):
        for name in in_turn(list(running), turn):
            process = running[name]
            curves[name].append([process.search(ef) for ef in process.breadths])
        print(f"  round {turn + 1} of {rounds}", flush=True)
    return curves


def evaluate(builds, rounds, baseline_builds, baseline_rounds):
    """What the rounds of one index say, alone and against the baseline in the same round."""
    qps, ratios = {}, {}
    for target in TARGETS:
        own = [at_recall(curve, target) for curve in rounds]
        other = [at_recall(curve, target) for curve in baseline_rounds]
        qps[str(target)] = summary(own)
        ratios[str(target)] = summary([quotient(a, b) for a, b in zip(own, other)])
    # The last round is common to both, if one was built more often.
    cpu = [
        a["build_cpu_seconds"] / b["build_cpu_seconds"]
        for a, b in zip(reversed(builds), reversed(baseline_builds))
    ]
    counted = rounds[0][0]["evaluations"] is not None
    return {
        "builds": builds,
        "qps": qps,
        "ratios": ratios,
        "build_cpu_ratio": summary(cpu),
        "work": median(point["work"] for curve in rounds for point in curve),
        "evaluations": at_recall(rounds[0], 0.95, "evaluations") if counted else None,
        "curve": [
            {**points[0], **{key: median(point[key] for point in points) for key in MEASURED}}
            for points in zip(*rounds)
        ],
        "rounds": rounds,
    }


if __name__ == "__main__":
    raise SystemExit(main())
