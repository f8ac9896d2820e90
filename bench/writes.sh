#!/bin/sh
# Latency of searches while a batch is inserted; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
exec node bench/writes/main.mjs "$@"
