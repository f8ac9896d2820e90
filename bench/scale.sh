#!/bin/sh
# The cost of a search at equal recall over the number of points; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-bench --bin scale -- \
    --json bench/results/scale.json "$@"
