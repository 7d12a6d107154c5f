#!/usr/bin/env bash
# cache.sh CACHE [ARGUMENT ...]: is the cache used, and done without when nothing listens?
# The program itself fails for a wrong answer.  Run by tests/support/with_redis.sh.
set -euo pipefail

# count_hits URL COMMAND ...: how many lookups the cache answered, in $hits.  5000 is a
# deadline that a busy machine keeps, in milliseconds (C) as in seconds (Python).
count_hits() {
    local said
    said=$("${@:2}" "$1" 5000)
    echo "$said"
    hits=$(sed 's/.* lookups, \([0-9]*\) answered.*/\1/' <<<"$said")
}

count_hits "$SHOAL_TEST_URL" "$@"
[ "$hits" -ge 800 ] || { echo "the cache was hardly used" >&2; exit 1; }
count_hits "unix://$SHOAL_TEST_SOCKET.nobody" "$@"
[ "$hits" = 0 ] || { echo "nobody cannot answer" >&2; exit 1; }
