"""The results as a table in Markdown."""

from curve import TARGETS


def table(results):
    lines = [f"# Search at equal recall@10, one thread, {results['date']}", ""]
    lines += [f"- {name}: {value}" for name, value in results["machine"].items()]
    lines += [f"- {name}: {value}" for name, value in results["settings"].items()]
    for case in results["cases"]:
        lines += ["", *case_table(case)]
    return "\n".join(lines) + "\n"


def case_table(case):
    baseline = case["baseline"]
    yield (
        f"## {case['name']}: {case['points']:,} x {case['dimension']}, {case['metric']}, "
        f"{case['queries']} queries"
    )
    yield ""
    columns = ["index", *(f"QPS at {target:.2f}" for target in TARGETS)]
    columns += [f"x {baseline} at {target:.2f}" for target in TARGETS]
    columns += ["distances at 0.95", "build s", "build CPU s", f"CPU x {baseline}", "MiB", "x raw"]
    yield row(columns)
    yield row(["---"] + ["---:"] * (len(columns) - 1))
    for name, peer in case["indexes"].items():
        facts = peer["builds"][-1]
        yield row(
            [
                name,
                *(number(peer["qps"][str(target)]) for target in TARGETS),
                *(ratio(peer["ratios"][str(target)]) for target in TARGETS),
                f"{peer['evaluations']:,.0f}" if peer["evaluations"] else "",
                f"{facts['build_seconds']:.1f}",
                f"{facts['build_cpu_seconds']:.1f}",
                ratio(peer["build_cpu_ratio"]),
                f"{facts['memory_bytes'] / 2**20:.0f}",
                f"{facts['memory_ratio']:.2f}",
            ]
        )
    yield ""
    for name, peer in case["indexes"].items():
        facts = peer["builds"][-1]
        yield f"- {name}: {facts['parameters']}"
    for name, reason in case["left_out"].items():
        yield f"- {name} is left out: {reason}"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def number(summary):
    return "not reached" if summary is None else f"{summary['median']:,.0f}"


def ratio(summary):
    if summary is None:
        return ""
    return f"{summary['median']:.2f} ({summary['least']:.2f}..{summary['most']:.2f})"
