#!/bin/sh
# vectord and other libraries side by side at equal recall; bench/README.md has the options and says
# how to read the results.
set -eu
cd "$(dirname "$0")/.."
. bench/peers/install.sh
exec "$venv/bin/python" bench/peers/run.py --program "$program" "$@"
