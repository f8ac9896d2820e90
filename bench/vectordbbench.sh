#!/bin/sh
# vectord under VectorDBBench; bench/README.md has the options and says how to read the results.
set -eu
cd "$(dirname "$0")/.."

venv=bench/vectordbbench/.venv
[ -d "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check \
    --requirement bench/vectordbbench/requirements.txt ./clients/python

[ -f dist/main.js ] || npm ci
mkdir -p bench/results
# VectorDBBench reads these when it is imported.
export LOG_LEVEL=WARNING LOG_FILE="$PWD/bench/results/vectordbbench.log"
exec "$venv/bin/python" bench/vectordbbench/run.py "$@"
