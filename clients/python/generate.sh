#!/usr/bin/env bash
# Writes the messages of proto/vectord/v1/points.proto as Python modules, which are committed.
#
# Two lines differ from the published file:
# - A vector is `bytes` where it is `repeated float`. The bytes on the wire are the same: the length,
#   then little-endian floats. numpy reads and writes them at once, while protobuf would go through
#   every value of a list.
# - The package is another one, so that a program may load the published file as well.
#
# Usage: clients/python/generate.sh [FOLDER]    src/vectord_client/_generated unless said otherwise
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
PYTHON=$ROOT/.cache/python-protoc/bin/python
FOLDER=${1:-$ROOT/clients/python/src/vectord_client/_generated}

test -x "$PYTHON" || node "$ROOT/test/support/install.mjs"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/vectord_client"
sed -E \
  -e 's/^package vectord\.v1;$/package vectord_client;/' \
  -e 's/^  repeated float vector = /  bytes vector = /' \
  "$ROOT/proto/vectord/v1/points.proto" > "$work/vectord_client/points.proto"
"$PYTHON" -m grpc_tools.protoc --proto_path "$work" \
  --python_out "$work" --pyi_out "$work" vectord_client/points.proto
mkdir -p "$FOLDER"
mv "$work"/vectord_client/points_pb2.py "$work"/vectord_client/points_pb2.pyi "$FOLDER"
