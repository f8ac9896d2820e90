#!/bin/sh
# What happens to writes when servers of NATS JetStream fail; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -d node_modules/@nats-io ] || npm ci
if ! command -v "${NATS_SERVER:-nats-server}" >/dev/null; then
    echo "nats-server is not here: go install github.com/nats-io/nats-server/v2@v2.15.3, or name it in NATS_SERVER" >&2
    exit 1
fi
exec node bench/nats/main.mjs "$@"
