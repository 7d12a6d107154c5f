#!/usr/bin/env bash
# blocking_pop.sh POP [ARGUMENT ...]: does the job come, and is the second pop let go?  Run by
# tests/support/with_redis.sh.
set -euo pipefail

said=$("$@" "$SHOAL_TEST_URL")
echo "$said"
[ "$said" = "job: first
SHOAL_ETIMEOUT, not executed" ] || { echo "that is not what it says" >&2; exit 1; }
