"""Filtered searches of vectord beside Qdrant Edge, each within its process, on one thread."""

import argparse
import json
import os
import subprocess
from pathlib import Path

from curve import at_recall, breadths, quotient, summary
from filters import JUDGED, SHARES, TIMES_PEER, bound, by_share, named
from machine import ROOT
from participants import EF_CONSTRUCTION, FILTERED, M, Gone, Process
from sets import CASES, Set
from turns import in_turn

RESULTS = ROOT / "bench" / "results"
SETS = [case for case in CASES if case.name in ("sift-100k", "minilm")]
RECALL = 0.95
# Of the curve, so that the recall lies between two of its points.
AROUND = 0.93, 0.96
LEAST_ROUNDS = 5
SHORT_POINTS = 10_000
OWN = FILTERED[0].name
# Of vectord's own searches without a filter.
OF_UNFILTERED = {50: 0.4, 10: 0.15}


def main():
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows, verdicts, left_out = [], [], {}
    for case in SETS:
        data = Set(options.data, case, SHORT_POINTS if options.short else None)
        print(f"{case.name}: {data.points:,} points, {case.metric}", flush=True)
        rates = measure(data, options, left_out)
        rows += [row(case.name, share, rates) for share in SHARES]
        verdicts += judge(case.name, rates)
    whole = not options.short and not left_out and options.rounds >= LEAST_ROUNDS
    tables = [{"title": f"Searches a second at recall@10 {RECALL}, one thread", "rows": rows}]
    found = {
        "settings": settings(options, left_out),
        "tables": tables,
        "verdicts": verdicts,
        "decides": whole,
    }
    path = RESULTS / f"filter-peers{'-short' if options.short else ''}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    subprocess.run(["node", ROOT / "bench/publish/print.mjs", "filter-peers", path], check=True)
    missed = any(one["met"] is False for one in verdicts)
    return 1 if missed and not options.short else 0


def parse():
    parser = argparse.ArgumentParser(prog="bench/filter-peers.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    short = f"{SHORT_POINTS:,} points of each set and 2 rounds"
    parser.add_argument("--short", action="store_true", help=short)
    parser.add_argument("--rounds", type=int, help=f"{LEAST_ROUNDS} unless --short")
    parser.add_argument("--program", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    options.rounds = options.rounds or (2 if options.short else LEAST_ROUNDS)
    return options


def measure(data, options, left_out):
    """The searches a second of each index under each filter, in each round; None in place of a
    round in which the recall was not reached.
    """
    running = build(data, options, left_out)
    rates = {name: {} for name in running}
    for share, some in by_share(data).items():
        curves = {name: [] for name in running}
        for turn in range(options.rounds):
            for name in in_turn(list(running), turn):
                process = running[name]
                process.filter(some, bound(share))
                if turn == 0:
                    process.breadths = breadths(process.recall, AROUND)
                curves[name].append([process.search(ef) for ef in process.breadths])
        for name, rounds in curves.items():
            rates[name][share] = [at_recall(curve, RECALL) for curve in rounds]
        print(f"  {named(share)}: done", flush=True)
    for process in running.values():
        process.end()
    return rates


def build(data, options, left_out):
    running = {}
    for peer in FILTERED:
        try:
            process = Process(peer, options.program, data, RESULTS / f"filter-{peer.name}.log")
            process.build(os.cpu_count())
        except Gone as gone:
            left_out[peer.name] = str(gone)
            print(f"  {peer.name} is left out: {gone}", flush=True)
            continue
        running[peer.name] = process
    return running


def row(name, share, rates):
    """A row of the table: each index, and vectord over the best other and over itself."""
    own = rates[OWN]
    return {
        "set": name,
        "filter matches": named(share),
        **{peer: cell(found[share], 0) for peer, found in rates.items()},
        "vectord over the best": cell(over_best(rates, share), 2),
        "over its unfiltered": cell(ratios(own[share], own[None]), 3),
    }


def judge(name, rates):
    own = rates[OWN]
    for share in SHARES:
        if share in OF_UNFILTERED:
            found = ratios(own[share], own[None])
            what = f"{name}, {named(share)} match: vectord over its searches without a filter"
            yield verdict(what, found, OF_UNFILTERED[share])
        if share in JUDGED:
            found = over_best(rates, share)
            yield verdict(f"{name}, {named(share)} match: vectord over the best", found, TIMES_PEER)


def verdict(what, found, least):
    spread = summary(found) if found else None
    return {
        "what": what,
        "found": cell(found, 3),
        "target": f"at least {least:g}",
        "met": None if spread is None else spread["median"] >= least,
    }


def over_best(rates, share):
    """In each round vectord's searches over those of the best other that reaches the recall."""
    others = [rates[name][share] for name in rates if name != OWN]
    best = [max((one for one in some if one), default=None) for some in zip(*others)]
    return ratios(rates[OWN][share], best)


def ratios(own, others):
    return [quotient(one, other) for one, other in zip(own, others)]


def cell(values, digits):
    found = summary(values) if values else None
    if found is None:
        return "not reached"
    return {key: round(value, digits) if digits else round(value) for key, value in found.items()}


def settings(options, left_out):
    return {
        "parameters": f"M={M}, ef_construction={EF_CONSTRUCTION}",
        "filters": "a number below a bound, at random among the points; indexed by all",
        "searches a second": "by the processor time of the process",
        "rounds": f"{options.rounds}, of which the median, the least and the most",
        **{f"{name} is left out": reason for name, reason in left_out.items()},
    }


if __name__ == "__main__":
    raise SystemExit(main())
