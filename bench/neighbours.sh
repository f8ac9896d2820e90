#!/bin/sh
# How much vectord and other libraries lose beside a program that streams through memory on another
# core; bench/README.md has the options and says how it measures.
set -eu
cd "$(dirname "$0")/.."
. bench/peers/install.sh
[ -d node_modules ] || npm ci
exec "$venv/bin/python" bench/peers/neighbours.py --program "$program" "$@"
