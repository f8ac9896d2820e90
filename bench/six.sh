#!/bin/sh
# Whether one checkout is slower than another: bench/six.sh OLD NEW [flags]; bench/README.md has them.
set -eu
# Each checkout is built into a folder of its own.
unset CARGO_TARGET_DIR
here=$(cd "$(dirname "$0")/.." && pwd)
for checkout in "${1:?names the older checkout}" "${2:?names the newer checkout}"; do
    cd "$checkout"
    [ -f dist/main.js ] || npm ci
    cargo build --quiet --release --package vectord-bench --bin peer
    cd - >/dev/null
done
exec node "$here/bench/six/main.mjs" "$@"
