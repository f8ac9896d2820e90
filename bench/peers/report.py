"""The results as tables in Markdown."""

from math import inf
from statistics import median

from curve import TARGETS
from ratios import OWN

BUILD_TIMES = "build_seconds", "build_cpu_seconds"
# Metrics that the overview shows, of the real sets: under the others one library alone runs beside
# vectord.
WITH_MANY_PEERS = "Euclidean", "Cosine"

# Kinds of processors by the feature that tells them, the widest first.
KINDS = {"avx512f": "With AVX-512", "avx2": "Without AVX-512"}


def kind_of(features):
    """The kind that a processor with these features is of; None if it is another."""
    return next((kind for kind in KINDS if kind in features.split()), None)


def replaced(page, kind, block):
    """The page with this block in the place that it has for the kind."""
    begin, end = f"<!-- {kind} -->", f"<!-- end of {kind} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has no place for {kind}")
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{after}"


def overview(results):
    """vectord over the others in one table for each k, those first that come closest to it."""
    title = f"**{KINDS[results['kind']]}**: {results['machine']['processor']}, "
    title += f"{results['date']}, commit {results['machine']['commit']}"
    shown = [case for case in results["cases"] if case["metric"] in WITH_MANY_PEERS]
    shown = [case for case in shown if not case["is_made"]]
    lines = [title]
    for k in dict.fromkeys(case["k"] for case in shown):
        lines += ["", *overview_table(k, [case for case in shown if case["k"] == k])]
    return "\n".join(lines)


def overview_table(k, cases):
    names = dict.fromkeys(name for case in cases for name in case["indexes"] if name != OWN)
    found = [(name, ratios_of(name, cases)) for name in names]
    found.sort(key=lambda row: [one["fastest"] if one else inf for one in row[1]])
    rows = [[name, *map(by_fastest, ratios)] for name, ratios in found]
    columns = [f"{case['name']} at {target:.2f}" for case in cases for target in TARGETS]
    return aligned([f"vectord over, k = {k}", *columns], rows)


def ratios_of(name, cases):
    """vectord's over this index at every recall in every set; None where there is none."""
    everywhere = [case["indexes"].get(name, {"ratios": {}})["ratios"] for case in cases]
    return [ratios.get(str(target)) for ratios in everywhere for target in TARGETS]


def section(results):
    """Everything about a run, under the kind of its processor."""
    facts = {"date": results["date"], **results["machine"], **results["settings"]}
    lines = [f"## {KINDS.get(results['kind'], 'Another processor')}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    for case in results["cases"]:
        lines += ["", *case_table(case), "", *verdict_table(case, results["short"])]
    return "\n".join(lines) + "\n"


def case_table(case):
    yield (
        f"### {case['name']}: {case['points']:,} x {case['dimension']}, {case['metric']}, "
        f"{case['queries']} queries, the {case['k']} nearest"
    )
    yield ""
    columns = ["index", *(f"QPS at {target:.2f}" for target in TARGETS)]
    columns += [f"{OWN} over it at {target:.2f}" for target in TARGETS]
    columns += ["working", "distances at 0.95", "build s", "build CPU s", f"CPU of {OWN} over it"]
    columns += ["MiB", "x raw"]
    yield from aligned(columns, [index_row(*named) for named in case["indexes"].items()])
    yield ""
    for name, index in case["indexes"].items():
        yield f"- {name}: {index['builds'][-1]['parameters']}"
    for name, reason in case["left_out"].items():
        yield f"- {name} is left out: {reason}"


def index_row(name, index):
    facts = index["builds"][-1]
    return [
        name,
        *(queries(index["qps"][str(target)]) for target in TARGETS),
        *(by_fastest(index["ratios"].get(str(target))) for target in TARGETS),
        f"{index['work']:.0%}",
        f"{index['evaluations']:,.0f}" if index["evaluations"] else "",
        *(f"{median(one[key] for one in index['builds']):.1f}" for key in BUILD_TIMES),
        with_spread(index["build_cpu_ratio"]),
        f"{facts['memory_bytes'] / 2**20:.0f}",
        f"{facts['memory_ratio']:.2f}",
    ]


def verdict_table(case, short):
    if not case["verdicts"]:
        return
    yield "Targets of vectord" + (", which hold for the whole set:" if short else ":")
    yield ""
    columns = ["vectord over", "in", "target", "verdict", "median (least..most)", "of the fastest"]
    yield from aligned(columns, [verdict_row(one) for one in case["verdicts"]], words=4)


def verdict_row(one):
    ratio = one["ratio"] or {}
    return [
        one["ratio to"],
        one["of"],
        one["target"],
        VERDICTS[one["met"]],
        with_spread(ratio) if ratio else one["note"],
        f"{ratio['fastest']:.2f}" if "fastest" in ratio else "-",
    ]


VERDICTS = {True: "met", False: "**missed**", None: "open"}


def aligned(columns, rows, words=1):
    """A table whose first columns are words and the others numbers, as prettier formats it."""
    widths = [max(3, *map(len, column)) for column in zip(columns, *rows)]
    ends = ["-" * width for width in widths[:words]]
    ends += ["-" * (width - 1) + ":" for width in widths[words:]]
    for row in columns, ends, *rows:
        cells = [
            cell.ljust(width) if at < words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "| " + " | ".join(cells) + " |"


def queries(found):
    return "-" if found is None else f"{found['fastest']:,.0f} ({found['median']:,.0f})"


def by_fastest(ratio):
    return "-" if ratio is None else f"{ratio['fastest']:.2f} ({ratio['median']:.2f})"


def with_spread(ratio):
    if ratio is None:
        return "-"
    return f"{ratio['median']:.2f} ({ratio['least']:.2f}..{ratio['most']:.2f})"
