#!/bin/sh
# vectord beside Weaviate, pgvector, Chroma, Redis and Qdrant Edge, as clients see them;
# bench/README.md has the options and says how to read the results.
set -eu
cd "$(dirname "$0")/.."

venv=bench/servers/.venv
requirements=bench/servers/requirements.txt
[ -d "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
grep -v '^#' "$requirements" | while IFS= read -r package; do
    "$venv/bin/pip" install --quiet --disable-pip-version-check --constraint "$requirements" \
        "$package" || echo "$package cannot be installed here and is left out" >&2
done

WEAVIATE_VERSION=v1.37.0
programs=$PWD/bench/servers/.cache/weaviate-$WEAVIATE_VERSION
export WEAVIATE_VERSION WEAVIATE="$programs/weaviate-server"
if [ ! -x "$WEAVIATE" ]; then
    module=github.com/weaviate/weaviate/cmd/weaviate-server
    if ! command -v go >/dev/null; then
        echo "Weaviate is left out: it is built with Go, which is not here (https://go.dev/dl)" >&2
    else
        GOBIN=$programs go install "$module@$WEAVIATE_VERSION" ||
            echo "Weaviate cannot be built here and is left out" >&2
    fi
fi

[ -f dist/main.js ] || npm ci
PYTHONPATH=bench/peers exec "$venv/bin/python" bench/servers/run.py "$@"
