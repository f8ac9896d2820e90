#!/bin/sh
# Recall and effort of the graphs on real sets: bench/recall.sh [FOLDER], or VECTORD_DATA=FOLDER.
set -eu
cd "$(dirname "$0")/.."
exec cargo run --quiet --release --package vectord-bench --bin recall -- "$@"
