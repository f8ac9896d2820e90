"""Runs vectord and its peers side by side on real sets: see ../README.md."""

import argparse
import json
import os
from datetime import date
from pathlib import Path
from statistics import median

from curve import TARGETS, at_recall, breadths, summary
from machine import ROOT, machine
from participants import EF_CONSTRUCTION, M, PARTICIPANTS, Gone, Process
from plot import draw
from report import table
from sets import CASES, Set

RESULTS = ROOT / "bench" / "results"
SHORT_POINTS = 10_000


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "settings": {
            "parameters": f"M={M}, ef_construction={EF_CONSTRUCTION}",
            "interleaved rounds": f"{options.builds} of builds, {options.rounds} of searches",
            "threads": f"{options.build_threads} to build, 1 to search",
        },
        "cases": [],
    }
    for case in CASES:
        if case.name in options.sets and participants(case, options):
            data = Set(options.data, case, SHORT_POINTS if options.short else None)
            results["cases"].append(measure(data, options))
    stem = RESULTS / ("peers-short" if options.short else "peers")
    stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    stem.with_suffix(".md").write_text(table(results))
    draw(results, stem)
    print(table(results))
    print(f"written to {stem}.md, .json, .svg and .png")


def parse():
    parser = argparse.ArgumentParser(prog="bench/peers.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    short = f"{SHORT_POINTS:,} points of each set and 3 rounds"
    parser.add_argument("--short", action="store_true", help=short)
    for option, choices in ("--peers", PARTICIPANTS), ("--sets", CASES):
        known = [choice.name for choice in choices]
        parser.add_argument(
            option, type=some_of(known), default=known, help=f"some of {','.join(known)}"
        )
    parser.add_argument("--rounds", type=int, help="of searches, 7 unless --short")
    parser.add_argument("--builds", type=int, default=1, help="rounds of builds")
    parser.add_argument("--build-threads", type=int, default=1)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    options.rounds = options.rounds or (3 if options.short else 7)
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
    return {
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


def build_all(data, options, left_out):
    """Builds every index as often as asked for; the processes of the last round stay."""
    wanted = participants(data.case, options)
    builds = {peer.name: [] for peer in wanted}
    running = {}
    for turn in range(options.builds):
        for peer in rotated(wanted, turn):
            if peer.name in left_out:
                continue
            try:
                process = build(peer, data, options)
                if turn == options.builds - 1:
                    process.breadths = breadths(process.recall)
            except Gone as gone:
                left_out[peer.name] = str(gone)
                print(f"  {peer.name} is left out: {gone}", flush=True)
                continue
            builds[peer.name].append(process.facts)
            if turn == options.builds - 1:
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


def search_all(running, rounds):
    """A curve of every index in every round."""
    curves = {name: [] for name in running}
    for turn in range(rounds):
        for name in rotated(list(running), turn):
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
    cpu = [
        quotient(a["build_cpu_seconds"], b["build_cpu_seconds"])
        for a, b in zip(builds, baseline_builds)
    ]
    counted = rounds[0][0]["evaluations"] is not None
    return {
        "builds": builds,
        "qps": qps,
        "ratios": ratios,
        "build_cpu_ratio": summary(cpu),
        "evaluations": at_recall(rounds[0], 0.95, "evaluations") if counted else None,
        "curve": [
            {**points[0], "qps": median(point["qps"] for point in points)}
            for points in zip(*rounds)
        ],
        "rounds": rounds,
    }


def quotient(value, other):
    return None if value is None or other is None else value / other


def rotated(items, turn):
    """The items from another first one each turn, so that none always follows the same other."""
    start = turn % len(items)
    return items[start:] + items[:start]


if __name__ == "__main__":
    main()
