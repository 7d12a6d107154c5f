#!/usr/bin/env bash
# two_hiredis.sh <libshoal.a>: links a program that has a static hiredis of its own, the
# system's, with libshoal.a, in both orders, and runs it.  Skipped where there is none.
# Expects SHOAL_TEST_URL and SHOAL_TEST_SOCKET (tests/support/with_redis.sh).
set -euo pipefail

library=$1
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
archive=$("$cc" -print-file-name=libhiredis.a)
if [ ! -f "$archive" ]; then
    echo "two_hiredis: no libhiredis.a (Debian: libhiredis-dev)"
    exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/shoal-package.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
read -ra others < <(pkg-config --libs libuv)
others+=(-pthread)
if nm "$library" | grep ' U SSL_new$' >/dev/null; then others+=(-lssl -lcrypto); fi

"$cc" -c "$here/two_hiredis.c" -I"$here/../../include" -o "$scratch/two.o"
# -fno-lto: it would optimise the library again, twice.
"$cc" -fno-lto -o "$scratch/ours_first" "$scratch/two.o" "$library" "$archive" "${others[@]}"
"$cc" -fno-lto -o "$scratch/ours_last" "$scratch/two.o" "$archive" "$library" "${others[@]}"
for order in ours_first ours_last; do
    printf '%-11s ' "$order:"
    "$scratch/$order" "$SHOAL_TEST_URL" "$SHOAL_TEST_SOCKET"
done
