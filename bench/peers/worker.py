"""The process of one Python library: `worker.py MODULE STORAGE METRIC BASE QUERIES POINTS M
EF_CONSTRUCTION`.

It speaks the protocol of the engine's `peer` example: a line of JSON when the base is read, then
one for each line `build THREADS`, `filter BOUND`, `k N` or `search EF` that it is given.
"""

import ctypes
import gc
import json
import os
import sys
import time
from importlib import import_module

from sets import K, floats, unit


def main():
    replies = own_output()
    module, storage, metric, base, queries, points, m, ef_construction = sys.argv[1:]
    index = import_module("adapters." + module).Index(
        metric, int(m), int(ef_construction), storage
    )
    base, queries = floats(base, int(points)), floats(queries)
    if metric == "Cosine":
        base, queries = unit(base), unit(queries)
    settle()

    def reply(**fields):
        print(json.dumps(fields), file=replies, flush=True)

    reply(parameters=index.parameters)
    k = K
    for line in sys.stdin:
        command, number = line.split()
        if command == "build":
            took, _ = timed(lambda: index.build(base, int(number)))
            settle()
            reply(**took)
        elif command == "filter":
            index.set_filter(int(number))
            reply()
        elif command == "k":
            k = int(number)
            reply()
        else:
            index.set_ef(int(number))
            took, rows = timed(lambda: index.search_batch(queries, k))
            reply(**took, found=rows.tolist(), evaluations=index.evaluations)


def own_output():
    """Standard output as a file of its own: what libraries print goes to standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies


def settle():
    """Gives freed memory back to the system, where that can be asked for, before it is read."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


def timed(work):
    """What the work took, by the clock and in processor time of all threads, and its result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    cpu_seconds = time.process_time() - cpu
    return {"seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds}, result


if __name__ == "__main__":
    main()
