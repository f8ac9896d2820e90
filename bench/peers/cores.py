"""Which cores processes are kept on."""

import os
from pathlib import Path

# Processors that share a core with one, as Linux lists them: "0,32" or "0-1".
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def two_cores():
    """A processor for what is measured, and one of another core for its neighbour; None in place of
    each where processes cannot be kept on one. Ends the program where there is one core alone.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        return apart(allowed, siblings(allowed[0]))
    apart(list(range(os.cpu_count() or 1)), set())
    return None, None


def apart(allowed, siblings):
    """The first processor, and the first that is none of its siblings."""
    first, *others = allowed
    others = [one for one in others if one not in siblings]
    if not others:
        raise SystemExit(
            "bench/neighbours.sh needs two cores, one for what is measured and one for its "
            f"neighbour: of the processors {', '.join(map(str, allowed))}, which this process may "
            "use, all are of one core"
        )
    return first, others[0]


def siblings(processor):
    path = Path(SIBLINGS.format(processor))
    return numbers(path.read_text()) if path.exists() else set()


def numbers(text):
    """Those of a list as Linux writes it, such as "0,32-33"."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
