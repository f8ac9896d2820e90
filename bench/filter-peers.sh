#!/bin/sh
# Filtered searches of vectord beside Qdrant Edge, within their processes, at equal recall;
# bench/README.md has the options and says how to read the results.
set -eu
cd "$(dirname "$0")/.."

requirements=bench/servers/requirements.txt
venv=bench/servers/.venv
[ -d "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
grep -E '^(numpy|psutil|qdrant-edge-py)' "$requirements" | while IFS= read -r package; do
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$package" ||
        echo "$package cannot be installed here and is left out" >&2
done
cargo build --quiet --release --package vectord-bench --bin peer
[ -d node_modules ] || npm ci
exec "$venv/bin/python" bench/peers/filtered.py \
    --program "${CARGO_TARGET_DIR:-target}/release/peer" "$@"
