"""The results as recall/QPS curves, one panel for each set."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "vectord"

from matplotlib import pyplot  # noqa: E402


def draw(results, stem):
    cases = results["cases"]
    columns = min(2, len(cases))
    rows = -(-len(cases) // columns)
    figure, panels = pyplot.subplots(
        rows, columns, figsize=(6 * columns, 4.5 * rows), squeeze=False, layout="constrained"
    )
    colours = {}
    for panel, case in zip(panels.flat, cases):
        for name, peer in case["indexes"].items():
            colour = colours.setdefault(name, f"C{len(colours)}")
            recalls = [point["recall"] for point in peer["curve"]]
            qps = [point["qps"] for point in peer["curve"]]
            width = 2.5 if name == "vectord" else 1.2
            panel.plot(recalls, qps, marker=".", label=name, color=colour, linewidth=width)
        panel.set_yscale("log")
        panel.set_xlim(0.88, 1)
        panel.set_title(f"{case['name']} ({case['points']:,} points, {case['metric']})")
        panel.set_xlabel("recall@10")
        panel.set_ylabel("queries per second, one thread")
        panel.grid(which="both", alpha=0.25)
        panel.legend(fontsize="small")
    for panel in panels.flat[len(cases) :]:
        panel.remove()
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)
