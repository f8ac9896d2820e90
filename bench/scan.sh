#!/bin/sh
# The exact scan beside a plain read of the same memory, and beside the graph: bench/scan.sh [flags].
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-bench --bin scan -- \
    --json bench/results/scan.json "$@"
