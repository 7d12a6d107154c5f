#!/usr/bin/env bash
# cluster.sh PROGRAM [ARGUMENT ...]: does the program end well beside a cluster of three nodes,
# whose URL is its last argument?  URL_SCHEME is that of the URL [redis+cluster].  Run by
# tests/support/with_redis.sh.
set -euo pipefail

server=${REDIS_SERVER:-redis-server}
folder=$(mktemp -d "${TMPDIR:-/tmp}/shoal-cluster.XXXXXX")
pids=() ports=() buses=()

cleanup() {
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" || true
        wait "$pid" || true
    done
    rm -rf "$folder"
} 2>/dev/null
trap cleanup EXIT

# The kernel ends the servers even when this script is killed outright.
deathsig=()
if setpriv --pdeathsig KILL true 2>/dev/null; then
    deathsig=(setpriv --pdeathsig KILL)
fi

# Starts a node at ports that may be free; fails if they are not.
start() {
    local port=$((12000 + RANDOM % 2000)) bus=$((14000 + RANDOM % 2000))
    local home=$folder/${#pids[@]}.$port
    mkdir "$home"
    "${deathsig[@]}" "$server" --port "$port" --bind 127.0.0.1 --dir "$home" --save '' \
        --cluster-enabled yes --cluster-port "$bus" --cluster-announce-ip 127.0.0.1 \
        --cluster-node-timeout 1500 --protected-mode no >"$home/log" 2>&1 &
    for _ in {1..1000}; do
        if grep -qs 'eady to accept connections' "$home/log"; then
            pids+=($!) ports+=("$port") buses+=("$bus")
            return 0
        fi
        kill -0 $! 2>/dev/null || return 1
        sleep 0.02
    done
    kill -KILL $!
    return 1
}

# Sends one command to a node; its whole answer is printed.
ask() {
    local port=$1
    shift
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf '%s\r\nQUIT\r\n' "$*" >&3
    cat <&3
    exec 3>&-
}

knows_all() {
    local info
    info=$(ask "$1" CLUSTER INFO)
    [[ $info == *cluster_state:ok* && $info == *cluster_known_nodes:3* ]]
}

for _ in {1..20}; do
    [ "${#pids[@]}" = 3 ] || start || true
done
[ "${#pids[@]}" = 3 ] || { echo "cluster: $server does not start" >&2; exit 1; }
for i in 0 1 2; do
    ask "${ports[i]}" CLUSTER SET-CONFIG-EPOCH $((i + 1)) >/dev/null
    ask "${ports[i]}" CLUSTER ADDSLOTSRANGE $((i * 5462)) \
        $((i < 2 ? (i + 1) * 5462 - 1 : 16383)) >/dev/null
    for k in 0 1 2; do
        [ "$i" = "$k" ] || ask "${ports[i]}" CLUSTER MEET 127.0.0.1 "${ports[k]}" \
            "${buses[k]}" >/dev/null
    done
done
for i in 0 1 2; do
    until knows_all "${ports[i]}"; do
        sleep 0.02
    done
done
"$@" "${URL_SCHEME:-redis+cluster}://127.0.0.1:${ports[0]}"
