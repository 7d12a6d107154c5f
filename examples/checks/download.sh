#!/usr/bin/env bash
# download.sh DOWNLOAD: are large and short values in the file as they are in the server, and
# is a key that is not there an error?  Run by tests/support/with_redis.sh.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for bytes in 5 70000 3000000; do
    head -c "$bytes" /dev/urandom >"$folder/value"
    redis-cli -s "$SHOAL_TEST_SOCKET" -x SET "download:$bytes" <"$folder/value" >"$folder/said"
    "$1" "download:$bytes" "$folder/file" "$SHOAL_TEST_URL"
    cmp "$folder/value" "$folder/file"
done
if "$1" download:nothing "$folder/file" "$SHOAL_TEST_URL"; then
    echo "a key that is not there was found" >&2
    exit 1
fi
