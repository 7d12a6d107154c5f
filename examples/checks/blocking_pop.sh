#!/usr/bin/env bash
# blocking_pop.sh POP [ARGUMENT ...]: does the job come, and is the second pop let go?  Run by
# tests/support/with_redis.sh.
set -euo pipefail

for _ in {1..5}; do
    begun=$(date +%s%N)
    said=$("$@" "$SHOAL_TEST_URL")
    # A server that stands still does not say within a second that it let the pop go.
    [ "$said" = "job: first
SHOAL_ETIMEOUT, unknown" ] && [ $(($(date +%s%N) - begun)) -ge 1000000000 ] || break
done
echo "$said"
[ "$said" = "job: first
SHOAL_ETIMEOUT, not executed" ] || { echo "that is not what it says" >&2; exit 1; }
