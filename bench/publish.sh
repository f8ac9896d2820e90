#!/bin/sh
# Runs scan, scale, engine, memory, restart, writes or servers and publishes what it finds in
# docs/performance: bench/publish.sh [NAME [flags]], and without a name all seven.
set -eu
cd "$(dirname "$0")/.."
[ -d node_modules/prettier ] || npm ci
exec node bench/publish/main.mjs "$@"
