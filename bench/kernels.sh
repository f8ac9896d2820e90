#!/bin/sh
# The distance kernels of each instruction set beside their scalar twins.
set -eu
cd "$(dirname "$0")/.."
exec cargo run --quiet --release --package vectord-bench --bin kernels
