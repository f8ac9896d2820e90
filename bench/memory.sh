#!/bin/sh
# Where the bytes of a point are, through the whole engine; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-engine --example memory -- \
    --json bench/results/memory.json "$@"
