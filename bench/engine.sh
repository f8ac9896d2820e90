#!/bin/sh
# A search through the engine beside a walk of the bare graph: bench/engine.sh [FOLDER] [flags].
set -eu
case "${1-}" in
'' | -*) folder=${VECTORD_DATA:?names the folder of the data, or give it as the first argument} ;;
*)
    folder=$(cd "$1" && pwd)
    shift
    ;;
esac
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-bench --bin engine -- \
    "$folder" --json bench/results/engine.json "$@"
