"""The results as a table in Markdown."""

from statistics import median

from curve import TARGETS

BUILD_TIMES = "build_seconds", "build_cpu_seconds"


def table(results):
    lines = [f"# Search at equal recall@10, one thread, {results['date']}", ""]
    lines += [f"- {name}: {value}" for name, value in results["machine"].items()]
    lines += [f"- {name}: {value}" for name, value in results["settings"].items()]
    for case in results["cases"]:
        lines += ["", *case_table(case), "", *verdict_table(case, results["short"])]
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
    columns += ["working", "distances at 0.95", "build s", "build CPU s", f"CPU x {baseline}"]
    columns += ["MiB", "x raw"]
    yield row(columns)
    yield row(["---"] + ["---:"] * (len(columns) - 1))
    for name, peer in case["indexes"].items():
        facts = peer["builds"][-1]
        build = {key: median(one[key] for one in peer["builds"]) for key in BUILD_TIMES}
        yield row(
            [
                name,
                *(number(peer["qps"][str(target)]) for target in TARGETS),
                *(ratio(peer["ratios"][str(target)]) for target in TARGETS),
                f"{peer['work']:.0%}",
                f"{peer['evaluations']:,.0f}" if peer["evaluations"] else "",
                *(f"{build[key]:.1f}" for key in BUILD_TIMES),
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


def verdict_table(case, short):
    if not case["verdicts"]:
        return
    yield "Targets of vectord" + (", which hold for the whole set:" if short else ":")
    yield ""
    yield row(["vectord over", "in", "target", "median (least..most)", "verdict"])
    yield row(["---", "---", "---", "---:", "---"])
    for one in case["verdicts"]:
        found = ratio(one["ratio"]) or one["note"]
        yield row([one["ratio to"], one["of"], one["target"], found, VERDICTS[one["met"]]])


VERDICTS = {True: "met", False: "**missed**", None: "open"}


def row(cells):
    return "| " + " | ".join(cells) + " |"


def number(summary):
    return "not reached" if summary is None else f"{summary['median']:,.0f}"


def ratio(summary):
    if summary is None:
        return ""
    return f"{summary['median']:.2f} ({summary['least']:.2f}..{summary['most']:.2f})"
