#!/bin/sh
# What a cluster costs beside a single server; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
exec node bench/cluster/main.mjs "$@"
