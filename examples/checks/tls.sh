#!/usr/bin/env bash
# tls.sh TLS [ARGUMENT ...]: is the right server talked to, and a wrong one not?  Run by
# tests/support/with_redis.sh --tls; without a port that speaks TLS there is nothing to see.
set -euo pipefail

if [ -z "${SHOAL_TEST_TLS_PORT:-}" ]; then
    exec "$@"
fi
url=rediss://127.0.0.1:$SHOAL_TEST_TLS_PORT
said=$("$@" "$url" "$SHOAL_TEST_CERTIFICATES/ca.crt")
echo "$said"
[ "$said" = "handshakes: 1 full, 0 resumed" ] || { echo "that is not what it says" >&2; exit 1; }
[ "$(redis-cli -s "$SHOAL_TEST_SOCKET" GET greeting)" = "hello, privately" ]
if said=$("$@" "$url" "$SHOAL_TEST_CERTIFICATES/other_ca.crt" 2>&1); then
    echo "a server of another authority was believed" >&2
    exit 1
fi
echo "$said"
grep -q "from an unknown authority" <<<"$said"
