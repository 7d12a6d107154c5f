#!/usr/bin/env bash
# dropin_cluster.sh PROGRAM [ARGUMENT ...]: as cluster.sh, with a URL for redis-py.
URL_SCHEME=redis exec "$(dirname "$0")/cluster.sh" "$@"
