"""Runs VectorDBBench against a vectord of this checkout: see ../README.md."""

import argparse
import json
import multiprocessing
import os
import platform
import re
import resource
import subprocess
import tempfile
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import psutil
from vectordb_bench.backend.cases import CaseType
from vectordb_bench.backend.clients import DB
from vectordb_bench.backend.data_source import DatasetSource
from vectordb_bench.backend.task_runner import CaseRunner, RunningStatus
from vectordb_bench.models import CaseConfig, ConcurrencySearchConfig, TaskConfig

from client import SIMILARITIES, Vectord, VectordCaseConfig, VectordConfig
from dataset import SETS, convert

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
ADDRESS = re.compile(r"^ *gRPC +(\S+:\d+)$", re.MULTILINE)

K = 100
LEAST_RECALL = 0.99
CONCURRENCY = [1, 5, 10]
START_SECONDS = 120
TIMEOUT_SECONDS = 3600


class VectordRunner(CaseRunner):
    """Runs a case as VectorDBBench does, with a class that its closed list of databases lacks."""

    def init_db(self, drop_old=True):
        config = self.config
        self.db = Vectord(
            self.ca.dataset.data.dim, config.db_config.to_dict(), config.db_case_config, drop_old
        )


def main():
    options = parse()
    multiprocessing.set_start_method("spawn")
    started, used_before = time.monotonic(), foreign_seconds()
    measured = {name: measure(SETS[name], options) for name in options.sets}
    gone = (time.monotonic() - started) * os.cpu_count()
    # Both counts are samples: nobody else is a little less than nothing at times.
    others = max(0.0, (foreign_seconds() - used_before) / gone)
    report = {
        "settings": {
            **settings(options),
            "others meanwhile": f"{100 * others:.0f} % of the processors",
        },
        "tables": tables(measured),
        "verdicts": [verdict(name, metric) for name, (_, metric) in measured.items()],
        "decides": options.sets == list(SETS),
    }
    path = RESULTS / "vectordbbench.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print_page = ["node", ROOT / "bench/publish/print.mjs", "vectordbbench", path]
    subprocess.run(print_page, check=True)
    print(f"written to {path}")
    return 0 if all(one["met"] for one in report["verdicts"]) else 1


def foreign_seconds():
    """The processor time of all that runs on the machine, without this process and its children."""
    times = psutil.cpu_times()
    owners = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own = sum(sum(resource.getrusage(owner)[:2]) for owner in owners)
    return times.user + times.nice + times.system - own


def measure(one, options):
    """What a case says of the set, and what VectorDBBench measures with it."""
    with tempfile.TemporaryDirectory(prefix="vectord-vectordbbench-") as name:
        folder = Path(name)
        about = convert(one, options.data, folder)
        print(f"{one.name}: {about['size']:,} points of {about['dim']} values", flush=True)
        with service(folder, about) as config:
            return about, runner(config, about, options.seconds).run()


def runner(config, about, seconds):
    case = CaseConfig(
        case_id=CaseType.PerformanceCustomDataset,
        custom_case={
            "name": about["name"],
            "description": "",
            "load_timeout": TIMEOUT_SECONDS,
            "optimize_timeout": TIMEOUT_SECONDS,
            "dataset_config": about,
        },
        k=K,
        concurrency_search_config=ConcurrencySearchConfig(
            num_concurrency=CONCURRENCY, concurrency_duration=seconds
        ),
    )
    task = TaskConfig(
        # One of the list has to be named.
        db=DB.Test,
        db_config=config,
        db_case_config=VectordCaseConfig(metric_type=about["metric_type"]),
        case_config=case,
    )
    return VectordRunner(
        run_id=about["name"],
        config=task,
        ca=case.case,
        status=RunningStatus.PENDING,
        dataset_source=DatasetSource.S3,
    )


@contextmanager
def service(folder, about):
    """A vectord on free ports, and how it is reached."""
    log, data = folder / "log", folder / "data"
    own = {
        "DATA_PATH": str(data),
        "DIMENSION": str(about["dim"]),
        "HTTP_PORT": "0",
        "GRPC_PORT": "0",
        # VectorDBBench has a variable of this name, too.
        "LOG_LEVEL": "info",
        "WARM_METRICS": SIMILARITIES[about["metric_type"]].name.lower(),
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            ["node", ROOT / "dist" / "main.js"],
            env={**os.environ, **own},
            stdout=output,
            stderr=output,
        )
    try:
        yield VectordConfig(address=address(process, log), key=write_key(data))
    finally:
        process.terminate()
        process.wait()


def address(process, log):
    deadline = time.monotonic() + START_SECONDS
    while not (found := ADDRESS.search(log.read_text())):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"vectord does not start: {log.read_text()}")
        time.sleep(0.05)
    return found.group(1)


def write_key(data):
    keys = json.loads((data / "keys.json").read_text())["keys"]
    return next(one["key"] for one in keys if one["role"] == "readwrite")


def settings(options):
    package = json.loads((ROOT / "package.json").read_text())
    node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "VectorDBBench": f"{version('vectordb-bench')} on Python {platform.python_version()}",
        "vectord": f"{package['version']} on Node.js {node}, settings as they come, "
        "WARM_METRICS=the metric",
        "client": f"vectord-client {version('vectord-client')} over gRPC, searches without an ef",
        "searches": f"the {K} nearest, {options.seconds} s for each number of processes",
    }


def tables(measured):
    alone = [
        {
            "set": f"{name}, {about['size']:,} x {about['dim']}, {about['metric_type']}",
            f"recall@{K}": metric.recall,
            f"NDCG@{K}": metric.ndcg,
            "p50 ms": ms(metric.serial_latency_p50),
            "p99 ms": ms(metric.serial_latency_p99),
            "load s": round(metric.load_duration, 1),
            "of it insert s": round(metric.insert_duration, 1),
        }
        for name, (about, metric) in measured.items()
    ]
    together = [
        {"set": name, "processes": processes, "searches/s": round(rate), "p99 ms": ms(p99)}
        for name, (_, metric) in measured.items()
        for processes, rate, p99 in zip(
            metric.conc_num_list, metric.conc_qps_list, metric.conc_latency_p99_list
        )
    ]
    return [
        {"title": "Load, and searches one after the other", "rows": alone},
        {"title": "Searches of several processes", "rows": together},
    ]


def ms(seconds):
    return round(1000 * seconds, 1)


def verdict(name, metric):
    return {
        "what": f"recall@{K} without an ef, {name}",
        "found": metric.recall,
        "target": f"at least {LEAST_RECALL}",
        "met": bool(metric.recall >= LEAST_RECALL),
    }


def parse():
    parser = argparse.ArgumentParser(prog="bench/vectordbbench.sh", description=__doc__)
    folder = os.environ.get("VECTORD_DATA")
    parser.add_argument("--data", default=folder, help="the folder of the sets")
    parser.add_argument("--sets", help=f"some of {','.join(SETS)}; all if left out")
    parser.add_argument("--seconds", type=int, default=10, help="of concurrent searches, 10")
    options = parser.parse_args()
    if not options.data:
        parser.error("name the folder of the sets with --data, or set VECTORD_DATA")
    options.sets = options.sets.split(",") if options.sets else list(SETS)
    if unknown := [name for name in options.sets if name not in SETS]:
        parser.error(f"{unknown[0]}: expected some of {','.join(SETS)}")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
