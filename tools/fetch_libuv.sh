#!/usr/bin/env bash
# fetch_libuv.sh <dest>: put the libuv sources into <dest>, for the Python extension.
#
# They come from the source archive pinned in tools/deps-libuv.txt, through pip, so that
# mirrors configured for pip are honoured and the hash is checked.  A stamp naming the
# pin makes a second run free.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <dest>" >&2
    exit 2
fi
dest=$1
pins=$(cd "$(dirname "$0")" && pwd)/deps-libuv.txt
python=${PYTHON:-python3}
stamp=$dest/.fetched

fail() {
    echo "fetch_libuv: $*" >&2
    exit 1
}

if [ -f "$stamp" ] && cmp -s "$stamp" "$pins"; then
    exit 0
fi
"$python" -m pip --version >/dev/null 2>&1 ||
    fail "'$python -m pip' does not work; install python3-pip, or set PYTHON"

mkdir -p "$(dirname "$dest")"
scratch=$(mktemp -d "$dest.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

echo "-- Fetching libuv ($(sed -n 's/^\(uvloop[^ ]*\).*/\1/p' "$pins"))"
# Only the archive itself must be a source: pip asks it for its metadata, and what that
# needs would take minutes to compile.
"$python" -m pip --disable-pip-version-check download --quiet --no-deps \
    --no-binary uvloop --require-hashes -r "$pins" -d "$scratch/archive" \
    2>"$scratch/log" || {
    sed 's/Retrying (Retry([^)]*))/Retrying/' "$scratch/log" | awk '!seen[$0]++' >&2
    fail "pip could not download the archive pinned in $pins"
}

mkdir "$scratch/libuv"
tar -xzf "$scratch"/archive/uvloop-*.tar.gz -C "$scratch/libuv" \
    --strip-components=3 --wildcards '*/vendor/libuv/*' \
    --exclude '*/libuv/test' --exclude '*/autom4te.cache' ||
    fail "the archive holds no vendor/libuv folder"
for file in CMakeLists.txt LICENSE include/uv.h src/unix/core.c src/uv-common.c; do
    [ -f "$scratch/libuv/$file" ] || fail "the archive lacks $file"
done
cp "$pins" "$scratch/libuv/.fetched"

rm -rf "$dest"
mv "$scratch/libuv" "$dest"
