#!/bin/sh
# Searches per second of two loops beside one; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
exec node bench/requests/workers.mjs "$@"
