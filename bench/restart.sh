#!/bin/sh
# How long a restart takes: bench/restart.sh [--points N] [--dimension D].
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-bench --bin restart -- \
    --json bench/results/restart.json "$@"
