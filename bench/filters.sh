#!/bin/sh
# Filtered searches beside unfiltered ones: bench/filters.sh [FOLDER] [flags], or VECTORD_DATA=FOLDER;
# --help lists the flags.
set -eu
case "${1-}" in
'' | -*) ;;
*)
    folder=$(cd "$1" && pwd)
    shift
    set -- "$folder" "$@"
    ;;
esac
cd "$(dirname "$0")/.."
mkdir -p bench/results
exec cargo run --quiet --release --package vectord-bench --bin filters -- \
    --json bench/results/filters.json "$@"
