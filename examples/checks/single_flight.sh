#!/usr/bin/env bash
# single_flight.sh PROGRAM [ARGUMENT ...]: is a page computed once if three programs miss it at
# the same time, and computed at all if the holder of its lock is gone?  Run by
# tests/support/with_redis.sh.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$SHOAL_TEST_PORT"
for lock in '{page:common-a}:lock' '{page:common-b}:lock'; do # of a holder that died
    printf 'SET %s gone PX 500\r\n' "$lock" >&3
    IFS= read -r -u 3 answer
done
programs=()
trap 'for program in "${programs[@]}"; do kill -KILL "$program" 2>/dev/null || true; done' EXIT
for _ in 1 2 3; do
    "$@" "$SHOAL_TEST_URL" common & programs+=($!)
done
for program in "${programs[@]}"; do
    wait "$program"
done
programs=()
for page in common-a common-b; do
    printf 'INCRBY computed:%s 0\r\n' "$page" >&3
    IFS= read -r -u 3 answer
    [ "${answer%$'\r'}" = :1 ] || { echo "$page was computed ${answer#:} times" >&2; exit 1; }
done
