"""The results as recall/QPS curves, one panel for each set."""

import matplotlib

matplotlib.use("svg")
# Text stays text, and the same figures give the same file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "vectord"
# The whole list stands at every text.
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "Arial"]

from matplotlib import pyplot  # noqa: E402

from ratios import OWN  # noqa: E402


LEAST_RECALL = 0.88
MOST_MARKS = 12


def draw(results, stem, formats):
    cases = results["cases"]
    columns = min(2, len(cases))
    rows = -(-len(cases) // columns)
    figure, panels = pyplot.subplots(
        rows, columns, figsize=(6 * columns, 4.5 * rows), squeeze=False, layout="constrained"
    )
    looks, lines = {}, {}
    for panel, case in zip(panels.flat, cases):
        for name, peer in case["indexes"].items():
            # There are ten colours.
            look = {"color": f"C{len(looks)}", "linestyle": "-" if len(looks) < 10 else "--"}
            look = looks.setdefault(name, look)
            curve = [point for point in peer["curve"] if point["recall"] >= LEAST_RECALL]
            recalls = [point["recall"] for point in curve]
            qps = [point["qps"] for point in curve]
            style = {**look, "linewidth": 2.5 if name == OWN else 1.2}
            # A mark takes more room in the file than a piece of the line.
            every = -(-len(curve) // MOST_MARKS) or 1
            lines[name], *_ = panel.plot(recalls, qps, marker=".", markevery=every, **style)
        panel.set_yscale("log")
        panel.set_xlim(LEAST_RECALL, 1)
        panel.set_title(f"{case['name']} ({case['points']:,} points, {case['metric']}), k = {case['k']}")
        panel.set_xlabel(f"recall@{case['k']}")
        panel.set_ylabel("queries per second, one thread")
        panel.grid(alpha=0.25)
    for panel in panels.flat[len(cases) :]:
        panel.remove()
    figure.suptitle(f"{results['machine']['processor']}, {results['date']}")
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4)
    for form in formats:
        metadata = {"Date": None, "Creator": None} if form == "svg" else None
        figure.savefig(stem.with_suffix(f".{form}"), dpi=150, metadata=metadata)
    pyplot.close(figure)
