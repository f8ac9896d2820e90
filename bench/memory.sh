#!/bin/sh
# Where the bytes of a point are, through the whole engine; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
# Blocks let go go back to the system: what the C library keeps of them is not in use.
export MALLOC_MMAP_THRESHOLD_=131072
exec cargo run --quiet --release --package vectord-bench --bin memory -- \
    --json bench/results/memory.json "$@"
