#!/usr/bin/env bash
# watch.sh WATCH [ARGUMENT ...]: is the sum conserved while connections are killed?  The
# program itself fails for a wrong sum.  Run by tests/support/with_redis.sh.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$SHOAL_TEST_PORT"

# Sends one command; its answer, a line, is in $answer.
ask() {
    printf '%s\r\n' "$*" >&3
    IFS= read -r -u 3 answer
    answer=${answer%$'\r'}
}

"$@" "$SHOAL_TEST_URL" &
watch=$!
trap 'kill -KILL "$watch" 2>/dev/null || true' EXIT
while kill -0 "$watch" 2>/dev/null; do
    ask EXISTS account:7 # else the accounts are being filled
    if [ "$answer" = :1 ]; then
        ask CLIENT KILL TYPE normal SKIPME yes
    fi
    sleep 0.02
done
wait "$watch"
