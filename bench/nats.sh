#!/bin/sh
# What happens to writes when servers of NATS JetStream fail; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
exec node bench/nats/main.mjs "$@"
