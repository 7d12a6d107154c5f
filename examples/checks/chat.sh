#!/usr/bin/env bash
# chat.sh CHAT [ARGUMENT ...]: do the members hear all lines although their subscriptions are cut?
# The program itself fails if they do not.  Run by tests/support/with_redis.sh.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$SHOAL_TEST_PORT"

# Sends one command; its answer, a line, is in $answer.
ask() {
    printf '%s\r\n' "$*" >&3
    IFS= read -r -u 3 answer
    answer=${answer%$'\r'}
    answer=${answer#:}
}

"$@" "$SHOAL_TEST_URL" & chat=$!
trap 'kill -KILL "$chat" 2>/dev/null || true' EXIT
cuts=0
while kill -0 "$chat" 2>/dev/null && [ "$cuts" -lt 3 ]; do
    ask CLIENT KILL TYPE pubsub
    cuts=$((cuts + answer))
done
wait "$chat"
[ "$cuts" -ge 1 ] || { echo "no connection was cut" >&2; exit 1; }

# Two members of their own: what one writes the other reads.
ask RPUSH 'chat:{lobby}' zoe:hello
(echo hello; while [ ! -e "$SHOAL_TEST_SOCKET.heard" ]; do sleep 0.01; done) |
    "$@" "$SHOAL_TEST_URL" ann |
    while read -r line; do
        echo "$line"
        case $line in ann:*) : >"$SHOAL_TEST_SOCKET.heard" ;; esac
    done
[ -e "$SHOAL_TEST_SOCKET.heard" ]
rm "$SHOAL_TEST_SOCKET.heard"
