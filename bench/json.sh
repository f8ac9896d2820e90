#!/bin/sh
# How long bodies of JSON take to be read; the argument names another checkout, built, to compare with.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
exec node bench/requests/read-json.mjs "$@"
