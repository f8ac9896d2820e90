#!/bin/sh
# Runs a benchmark and publishes what it finds in docs/performance, or all of them one after the
# other: bench/publish.sh [NAME [flags]]. bench/publish/benchmarks.mjs has the names.
set -eu
cd "$(dirname "$0")/.."
[ -d node_modules/prettier ] || npm ci
exec node bench/publish/main.mjs "$@"
