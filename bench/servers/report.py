"""What a run has found, in the form that bench/publish/markdown.mjs describes."""

from costs import payload_costs
from figures import spread
from filtered import filter_tables, filter_verdicts
from targets import OWN, verdicts

FIGURES = {
    "recall@10": ("recall", 3),
    "searches/s": ("rate", 0),
    "p50 ms": ("p50_ms", 2),
    "p99 ms": ("p99_ms", 2),
    "server CPU us": ("cpu_us", 0),
    "client CPU us": ("client_us", 0),
}
TITLES = {
    "one": "Searches over 1 connection",
    "one-payload": "Searches with payload over 1 connection",
    "eight": "Searches over 8 connections",
    "eight-payload": "Searches with payload over 8 connections",
    "batches": "Batches of 64 searches over 8 connections",
}
COMPARED = {
    "searches/s, 1 connection": ("one", "rate"),
    "p50, 1 connection": ("one", "p50_ms"),
    "searches/s, 8 connections": ("eight", "rate"),
    "server CPU, 8 connections": ("eight", "cpu_us"),
    "searches/s, batches of 64": ("batches", "rate"),
    "server CPU, batches of 64": ("batches", "cpu_us"),
    "searches/s with payload, 1 connection": ("one-payload", "rate"),
    "server CPU with payload, 1 connection": ("one-payload", "cpu_us"),
    "searches/s with payload, 8 connections": ("eight-payload", "rate"),
    "server CPU with payload, 8 connections": ("eight-payload", "cpu_us"),
    "points/s until indexed": ("load", "indexed_rate"),
}


def report(runs, whole):
    filters = [run for run in runs if run.contest.filters]
    if filters:
        found = [one for run in filters for one in filter_verdicts(run)]
    else:
        found = verdicts({run.data.case.name: run.measured for run in runs})
    return {
        "settings": settings(runs),
        "tables": [table for run in runs for table in tables(run)],
        "verdicts": found,
        "decides": whole,
    }


def tables(run):
    if run.contest.filters:
        yield from filter_tables(run)
        return
    measured, name = run.measured, run.data.case.name
    for mode, title in TITLES.items():
        if mode in run.contest.modes:
            yield {"title": f"{title}, {name}", "rows": searches(run, mode)}
    if run.contest.stores:
        rows = [storing(server, phases) for server, phases in measured.items()]
        yield {"title": f"Storing, {name}", "rows": rows}
    else:
        yield {"title": f"With payload over ids alone, {name}", "rows": payload_costs(measured)}
    peers = [server for server in measured if server != OWN]
    if OWN in measured and peers:
        rows = list(ratios(run, peers))
        yield {"title": f"vectord over the others, {name}", "rows": rows}


def searches(run, mode):
    return [
        {
            "server": name,
            "ef": run.facts[name]["ef"],
            **{
                column: spread([one[figure] for one in phases.get(mode, [])], digits)
                for column, (figure, digits) in FIGURES.items()
            },
        }
        for name, phases in run.measured.items()
    ]


def storing(name, phases):
    def of(phase, figure, digits=0, unit=1):
        return spread([one[figure] / unit for one in phases.get(phase, [])], digits)

    [sizes] = phases["sizes"]
    return {
        "server": name,
        "points/s until answered": of("load", "answered_rate"),
        "until indexed and searchable": of("load", "indexed_rate"),
        "server CPU s": of("load", "cpu_seconds", 1),
        "memory MiB": round(sizes["memory_bytes"] / 2**20),
        "disk MiB": round(sizes["disk_bytes"] / 2**20),
        "single inserts/s": of("insert", "rate"),
        "insert p99 ms": of("insert", "p99_ms", 1),
        "restart s": spread(phases.get("restart", []), 2),
    }


def ratios(run, peers):
    """Within each round: vectord's figure over that of each other server."""
    measured = run.measured
    for what, (phase, figure) in COMPARED.items():
        if phase not in run.contest.modes and not (phase == "load" and run.contest.stores):
            continue
        own = [one[figure] for one in measured[OWN][phase]]
        row = {"figure": what}
        for peer in peers:
            other = [one[figure] for one in measured[peer].get(phase, [])]
            row[peer] = spread([a / b for a, b in zip(own, other)], 2)
        yield row


def settings(runs):
    options = runs[0].options
    lines = {run.data.case.name: described(run.data) + run.contest.besides for run in runs}
    lines["breadth"] = "the least ef at which recall@10 reaches " + ", ".join(
        f"{one:g}" for one in sorted({run.contest.recall for run in runs})
    )
    lines["rounds"] = (
        f"{options.rounds} of searches, {options.loads} of loads, inserts and restarts, "
        f"slices of {options.seconds:g} s"
    )
    found = foreign(runs)
    lines["others meanwhile"] = f"{found} of the processors, servers at rest included"
    for run in runs:
        for name in run.measured:
            server = run.running[name]
            lines[name] = f"{run.facts[name]['version']}; {server.client}; {server.setting}"
        for name, reason in run.left_out.items():
            lines[f"{name} is left out of {run.data.case.name}"] = reason
    return lines


def described(data):
    return (
        f"{data.points:,} points of {data.dimension} values, {len(data.queries)} queries, "
        f"{data.case.metric}, the 10 nearest"
    )


def foreign(runs):
    shares = [
        one["foreign"]
        for run in runs
        for phases in run.measured.values()
        for rounds in phases.values()
        for one in rounds
        if isinstance(one, dict) and "foreign" in one
    ]
    found = spread([100 * share for share in shares], 1)
    return found if found == "-" else f"{found['median']} % (at most {found['most']} %)"
