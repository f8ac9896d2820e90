#!/bin/sh
# What a second event loop brings, and what it costs; bench/README.md has the options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
if ! command -v h2load >/dev/null; then
    echo "h2load is not here: apt-get install nghttp2-client (Debian), dnf install nghttp2 (Fedora)" >&2
    exit 1
fi
exec node bench/requests/loops.mjs "$@"
