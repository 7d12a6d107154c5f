#!/usr/bin/env bash
# job_stream.sh WORKER [ARGUMENT ...]: is each job done by another worker when one is killed and
# connections are cut, and is a job that always fails put aside?  Run by
# tests/support/with_redis.sh.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$SHOAL_TEST_PORT"
workers=()
trap 'for worker in "${workers[@]}"; do kill -KILL "$worker" 2>/dev/null || true; done' EXIT

# Sends one command; the first line of its answer is in $answer.
ask() {
    printf '%s\r\n' "$*" >&3
    IFS= read -r -u 3 answer
    answer=${answer%$'\r'}
    answer=${answer#:}
}

# until_at_least NUMBER COMMAND ...: waits until the command answers such a number.
until_at_least() {
    while ask "${@:2}" && [ "$answer" -lt "$1" ]; do
        for worker in "${workers[@]}"; do
            kill -0 "$worker" # else it is gone, and this script with it
        done
        sleep 0.01
    done
}

add_jobs() {
    for _ in $(seq "$1"); do
        printf 'XADD {jobs} * text "one two three"\r\n' >&3
    done
    for _ in $(seq "$1"); do
        IFS= read -r -u 3 answer # $ and the bytes of the ID
        IFS= read -r -u 3 answer
    done
}

# The first worker takes jobs and is gone before it acknowledges them.
ask XGROUP CREATE '{jobs}' workers 0 MKSTREAM
add_jobs 20
redis-cli -s "$SHOAL_TEST_SOCKET" XREADGROUP GROUP workers gone COUNT 10 STREAMS '{jobs}' '>' \
    >/dev/null
"$@" "$SHOAL_TEST_URL" killed & workers=($!)
until_at_least 1 HLEN '{jobs}:results'
add_jobs 180
kill -KILL "${workers[0]}"
wait "${workers[0]}" || true

printf 'XADD {jobs} * no "text"\r\n' >&3
IFS= read -r -u 3 answer
IFS= read -r -u 3 answer
workers=()
for name in ann ben; do
    "$@" "$SHOAL_TEST_URL" "$name" 2>"$SHOAL_TEST_SOCKET.$name" & workers+=($!)
done
until_at_least 50 HLEN '{jobs}:results'
ask CLIENT KILL TYPE normal SKIPME yes
until_at_least 200 HLEN '{jobs}:results'
until_at_least 1 XLEN '{jobs}:dead'
kill -TERM "${workers[@]}"
wait "${workers[@]}"
workers=()
cat "$SHOAL_TEST_SOCKET".{ann,ben}

ask XLEN '{jobs}'
[ "$answer" = 0 ] || { echo "$answer jobs are left" >&2; exit 1; }
ask HLEN '{jobs}:results'
[ "$answer" = 200 ] || { echo "$answer results of 200 jobs" >&2; exit 1; }
failed=$(cat "$SHOAL_TEST_SOCKET".{ann,ben} | grep -c "KeyError('text')")
[ "$failed" -le 3 ] || { echo "a bad job was delivered $failed times" >&2; exit 1; }
echo "200 jobs are done, 1 is put aside"
