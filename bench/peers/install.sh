# shellcheck shell=sh
# What bench/peers.sh and bench/neighbours.sh need, for a shell in the root of the project: $venv with
# the peers that can be installed here, and $program.
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
# shellcheck disable=SC2034 # of the scripts that read this one
program="${CARGO_TARGET_DIR:-target}/release/peer"
