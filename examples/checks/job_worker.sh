#!/usr/bin/env bash
# job_worker.sh WORKER [ARGUMENT ...]: does the worker lose a job when it is killed, when it
# finds one of its predecessor, when its connections are?  Run by tests/support/with_redis.sh.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$SHOAL_TEST_PORT"
worker=
trap 'if [ -n "$worker" ]; then kill -KILL "$worker"; fi' EXIT

# Sends one command; its answer, a line, is in $answer.
ask() {
    printf '%s\r\n' "$*" >&3
    IFS= read -r -u 3 answer
    answer=${answer%$'\r'}
    answer=${answer#:}
}

# Waits until the worker has recorded so many results.
until_results() {
    while ask HLEN results && [ "$answer" -lt "$1" ]; do
        kill -0 "$worker" # else the worker is gone, and this script with it
        sleep 0.01
    done
}

# Waits until no job is left: it may do the last one again.
until_done() {
    for list in jobs jobs:worker; do
        while ask LLEN "$list" && [ "$answer" != 0 ]; do
            kill -0 "$worker"
            sleep 0.01
        done
    done
}

ask RPUSH jobs job-{1..200}
"$@" "$SHOAL_TEST_URL" & worker=$!
until_results 1
kill -KILL "$worker"
wait "$worker" || true

ask RPUSH jobs:worker left-behind
"$@" "$SHOAL_TEST_URL" & worker=$!
until_results 50
ask CLIENT KILL TYPE normal SKIPME yes
until_results 201
until_done
kill -TERM "$worker"
wait "$worker"
worker=

for list in jobs jobs:worker; do
    ask LLEN "$list"
    [ "$answer" = 0 ] || { echo "$list: $answer jobs are left" >&2; exit 1; }
done
echo "201 jobs are done"
