"""The process of one Python library: `worker.py MODULE STORAGE METRIC BASE QUERIES POINTS M
EF_CONSTRUCTION`.

It speaks the protocol of the engine's `peer` example: a line of JSON when the base is read, then
one for each line `build THREADS` or `search EF` that it is given.
"""

import ctypes
import gc
import json
import os
import sys
import time
from importlib import import_module

from sets import floats, unit


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
    for line in sys.stdin:
        command, number = line.split()
        if command == "build":
            seconds = timed(lambda: index.build(base, int(number)))[0]
            settle()
            reply(seconds=seconds)
        else:
            index.set_ef(int(number))
            seconds, rows = timed(lambda: index.search_batch(queries))
            evaluations = index.evaluations
            reply(seconds=seconds, found=rows.tolist(), evaluations=evaluations)


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
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
