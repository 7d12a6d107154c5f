#!/usr/bin/env bash
# rate_limiter.sh PROGRAM [ARGUMENT ...]: are limits kept, and does the service answer when nothing
# listens?  The program itself fails if too much is admitted.  Run by tests/support/with_redis.sh.
set -euo pipefail

said=$("$@" "$SHOAL_TEST_URL" 5000) # a deadline that a busy machine keeps
echo "$said"
grep -q '^75 requests were answered, [1-9][0-9]* were told to wait$' <<<"$said"
grep -q '^0 were answered without' <<<"$said"
said=$("$@" "unix://$SHOAL_TEST_SOCKET.nobody")
echo "$said"
grep -q '^75 were answered without' <<<"$said"
