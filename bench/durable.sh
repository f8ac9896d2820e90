#!/bin/sh
# Durable inserts and restarts beside SQLite: bench/durable.sh [--short].
set -eu
cd "$(dirname "$0")/.."
mkdir -p bench/results
# As distributions build it: by itself the bundled SQLite takes the slower sync.
LIBSQLITE3_FLAGS="${LIBSQLITE3_FLAGS-} -DHAVE_FDATASYNC"
export LIBSQLITE3_FLAGS
exec cargo run --quiet --release --locked --manifest-path bench/durable/Cargo.toml -- \
    --json bench/results/durable.json "$@"
