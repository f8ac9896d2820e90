"""What the results depend on: the processor, the versions and the compiler."""

import os
import platform
import re
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("numpy", "hnswlib", "faiss-cpu", "usearch", "scalable-vs", "scann", "rabitqlib")
PACKAGES += ("pyglass-portable", "pyvsag", "ngt")

# Those that kernels of vectord or of a peer are chosen by.
FEATURES = ("avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_vpopcntdq")
FEATURES += ("avx512_bf16", "avx512_fp16", "asimd", "asimddp")


def machine():
    load, _, _ = os.getloadavg()
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores ({features()})",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": platform.platform(),
        "load at the start": f"{load:.1f}",
        "commit": output("git", "describe", "--always", "--dirty"),
        "compiler": output("rustc", "--version"),
        "RUSTFLAGS": os.environ.get("RUSTFLAGS", "not set"),
        "versions": ", ".join(f"{name} {number}" for name, number in versions()),
    }


def versions():
    yield "Python", platform.python_version()
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            yield package, version(package)
    lock = (ROOT / "Cargo.lock").read_text()
    yield "hnsw_rs", re.search(r'name = "hnsw_rs"\nversion = "(.+)"', lock).group(1)


def processor():
    found = re.search(r"model name\s*: (.+)", cpuinfo())
    return found.group(1) if found else platform.processor() or platform.machine()


def features():
    known = set(cpuinfo().split())
    return " ".join(name for name in FEATURES if name in known) or "features unknown"


def cpuinfo():
    """What Linux tells of the processor; nothing elsewhere."""
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


def output(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
