#!/bin/sh
# Filtered searches of vectord beside those of other servers, as clients see them; bench/README.md
# has the options and says how to read the results.
exec "$(dirname "$0")/servers.sh" --filters "$@"
