"""What a run has found, in the form that bench/publish/markdown.mjs describes."""

from figures import spread
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
    "eight": "Searches over 8 connections",
    "batches": "Batches of 64 searches over 8 connections",
}
COMPARED = {
    "searches/s, 1 connection": ("one", "rate"),
    "p50, 1 connection": ("one", "p50_ms"),
    "searches/s, 8 connections": ("eight", "rate"),
    "server CPU, 8 connections": ("eight", "cpu_us"),
    "searches/s, batches of 64": ("batches", "rate"),
    "server CPU, batches of 64": ("batches", "cpu_us"),
    "points/s until indexed": ("load", "indexed_rate"),
}


def report(run, recall, whole):
    measured = run.measured
    tables = [{"title": TITLES[mode], "rows": searches(run, mode)} for mode in TITLES]
    rows = [storing(name, phases) for name, phases in measured.items()]
    tables.append({"title": "Storing", "rows": rows})
    peers = [name for name in measured if name != OWN]
    if OWN in measured and peers:
        tables.append({"title": "vectord over the others", "rows": list(ratios(measured, peers))})
    return {
        "settings": settings(run, recall),
        "tables": tables,
        "verdicts": verdicts(measured),
        "decides": whole,
    }


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


def ratios(measured, peers):
    """Within each round: vectord's figure over that of each other server."""
    for what, (phase, figure) in COMPARED.items():
        own = [one[figure] for one in measured[OWN][phase]]
        row = {"figure": what}
        for peer in peers:
            other = [one[figure] for one in measured[peer].get(phase, [])]
            row[peer] = spread([a / b for a, b in zip(own, other)], 2)
        yield row


def settings(run, recall):
    options, data = run.options, run.data
    lines = {
        "data": f"sift, {data.points:,} points of {data.dimension} values, "
        f"{len(data.queries)} queries, Euclidean, the 10 nearest",
        "breadth": f"the least ef at which recall@10 reaches {recall}",
        "rounds": f"{options.rounds} of searches, {options.loads} of loads, inserts and restarts, "
        f"slices of {options.seconds:g} s",
        "others meanwhile": f"{foreign(run.measured)} of the processors, servers at rest included",
    }
    for name in run.measured:
        server = run.running[name]
        lines[name] = f"{run.facts[name]['version']}; {server.client}; {server.setting}"
    for name, reason in run.left_out.items():
        lines[f"{name} is left out"] = reason
    return lines


def foreign(measured):
    shares = [
        one["foreign"]
        for phases in measured.values()
        for mode in TITLES
        for one in phases.get(mode, [])
    ]
    found = spread([100 * share for share in shares], 1)
    return found if found == "-" else f"{found['median']} % (at most {found['most']} %)"
