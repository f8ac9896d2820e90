#!/bin/sh
# Processor time that the server spends on a request; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
# What the HTTP interface is compared with, and nothing else needs.
parser=bench/.cache/requests/node_modules/@koa/bodyparser
[ -d "$parser" ] || npm install --silent --no-save --prefix bench/.cache/requests @koa/bodyparser@6.1.0
exec node bench/requests/main.mjs "$@"
