"""The neighbour: `stream.py MIB [PROCESSOR]` adds up an array of so many MiB for ever, on this
processor. It first says how many GiB a second that reads.
"""

import os
import sys
import time

import numpy

ROUNDS = 5


def main():
    size, *processor = map(int, sys.argv[1:])
    if processor:
        os.sched_setaffinity(0, processor)
    array = numpy.ones(size << 17)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        array.sum()
    print(ROUNDS * size / 1024 / (time.perf_counter() - start), flush=True)
    while True:
        array.sum()


if __name__ == "__main__":
    main()
