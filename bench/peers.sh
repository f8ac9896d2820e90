#!/bin/sh
# vectord and other libraries side by side at equal recall; bench/README.md has the options and says
# how to read the results.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${HNSWLIB_NO_NATIVE+set}" ]; then
    echo "unset HNSWLIB_NO_NATIVE: hnswlib is to be compiled for this processor" >&2
    exit 1
fi
requirements=bench/peers/requirements.txt
venv=bench/.venv
[ -d "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
grep -v '^#' "$requirements" | while IFS= read -r package; do
    # A cached build of hnswlib may have been made for another processor.
    case $package in hnswlib*) options='--no-binary hnswlib --no-cache-dir' ;; *) options= ;; esac
    # shellcheck disable=SC2086 # several options, or none
    "$venv/bin/pip" install --quiet --disable-pip-version-check --constraint "$requirements" \
        $options "$package" || echo "$package cannot be installed here and is left out" >&2
done
cargo build --quiet --release --package vectord-bench --bin peer
exec "$venv/bin/python" bench/peers/run.py \
    --program "${CARGO_TARGET_DIR:-target}/release/peer" "$@"
