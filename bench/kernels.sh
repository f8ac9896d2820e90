#!/bin/sh
# The distance kernels of each instruction set beside the scalar ones.
set -eu
cd "$(dirname "$0")/.."
exec cargo run --quiet --release --package vectord-bench --bin kernels
