#!/bin/sh
# What contents cost that a search answers, and a stream of all points; bench/README.md has the
# options.
set -eu
cd "$(dirname "$0")/.."
[ -f dist/main.js ] || npm ci
if ! command -v h2load >/dev/null; then
    echo "h2load is not here: apt-get install nghttp2-client (Debian), dnf install nghttp2 (Fedora)" >&2
    exit 1
fi
exec node bench/requests/payloads.mjs "$@"
