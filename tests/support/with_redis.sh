#!/usr/bin/env bash
# with_redis.sh [--url-argument] [--tls PROGRAM] command [argument ...]
#
# Runs the command beside a private redis-server that listens on a Unix socket and
# on a free loopback port, keeps nothing on disk, and dies with this script.  The
# command finds it by SHOAL_TEST_SOCKET, SHOAL_TEST_PORT, SHOAL_TEST_URL and
# SHOAL_TEST_REDIS_PID; --url-argument also appends the URL to its arguments.
# With --tls the server has a second port that speaks TLS, SHOAL_TEST_TLS_PORT.
# PROGRAM is shoal-certificates: it makes the certificates, of the server and others,
# that are in the folder SHOAL_TEST_CERTIFICATES.
# Exits as the command does; 77 (skip) when there is no server to start.
# REDIS_SERVER names another server, for example valkey-server.
set -uo pipefail

server=${REDIS_SERVER:-redis-server}
url_argument=no
certificates=
while true; do
    case ${1:-} in
    --url-argument) url_argument=yes ;;
    --tls)
        certificates=${2:-}
        shift
        ;;
    *) break ;;
    esac
    shift
done
if [ $# -eq 0 ]; then
    echo "usage: $0 [--url-argument] [--tls PROGRAM] command [argument ...]" >&2
    exit 2
fi
if ! command -v "$server" >/dev/null; then
    echo "with_redis: $server is not installed" >&2
    exit 77
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/shoal-redis.XXXXXX")
server_pid=
command_pid=

cleanup() {
    trap '' INT TERM HUP
    if [ -n "$command_pid" ]; then kill -TERM "$command_pid"; fi
    if [ -n "$server_pid" ]; then
        kill -CONT "$server_pid" # a test may have stopped it
        kill -KILL "$server_pid"
        wait "$server_pid"
    fi
    rm -rf "$folder"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The kernel ends both children even when this script is killed outright.
deathsig=()
if setpriv --pdeathsig KILL true 2>/dev/null; then
    deathsig=(setpriv --pdeathsig KILL)
fi

if [ -n "$certificates" ]; then
    mkdir "$folder/certificates" && "$certificates" "$folder/certificates" || exit 1
fi

# The server says which port was taken: try others until one is free.
start() {
    local tls=()
    port=$((18000 + RANDOM % 2000)) # below those of tests/support/loopback_port.h
    if [ -n "$certificates" ]; then
        tls_port=$((16000 + RANDOM % 2000))
        tls=(--tls-port "$tls_port" --tls-auth-clients no
            --tls-cert-file "$folder/certificates/server.crt"
            --tls-key-file "$folder/certificates/server.key"
            --tls-ca-cert-file "$folder/certificates/ca.crt")
    fi
    "${deathsig[@]}" "$server" --port "$port" --bind 127.0.0.1 \
        --unixsocket "$folder/socket" --unixsocketperm 700 --dir "$folder" \
        --save '' --appendonly no --daemonize no "${tls[@]}" >"$folder/log" 2>&1 &
    server_pid=$!
    for _ in {1..1000}; do
        if grep -qs 'eady to accept connections' "$folder/log" &&
            [ -S "$folder/socket" ]; then
            return 0
        fi
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$server_pid" 2>/dev/null
    wait "$server_pid" 2>/dev/null
    server_pid=
    return 1
}

for attempt in 1 2 3 4 5 6; do
    start && break
    if [ "$attempt" = 6 ]; then
        echo "with_redis: $server does not start:" >&2
        tail -n 20 "$folder/log" >&2
        exit 1
    fi
done

export SHOAL_TEST_SOCKET=$folder/socket
export SHOAL_TEST_PORT=$port
export SHOAL_TEST_URL=redis://127.0.0.1:$port
export SHOAL_TEST_REDIS_PID=$server_pid
if [ -n "$certificates" ]; then
    export SHOAL_TEST_TLS_PORT=$tls_port
    export SHOAL_TEST_CERTIFICATES=$folder/certificates
fi
if [ "$url_argument" = yes ]; then
    set -- "$@" "$SHOAL_TEST_URL"
fi

# In the background, so that a signal is acted on at once.
"${deathsig[@]}" "$@" <&0 &
command_pid=$!
wait "$command_pid"
rc=$?
command_pid=
exit "$rc"
