#!/usr/bin/env bash
# fetch_hiredis.sh <dest>: put the hiredis C sources into <dest>.
#
# They come from the source archive pinned in tools/deps.txt, through pip, so that
# mirrors configured for pip are honoured and the hash is checked.  A stamp naming
# the pin makes a second run free.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <dest>" >&2
    exit 2
fi
dest=$1
pins=$(cd "$(dirname "$0")" && pwd)/deps.txt
python=${PYTHON:-python3}
stamp=$dest/.fetched

fail() {
    echo "fetch_hiredis: $*" >&2
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

echo "-- Fetching hiredis ($(sed -n 's/^\(hiredis[^ ]*\).*/\1/p' "$pins"))"
download() {
    "$python" -m pip --disable-pip-version-check download --quiet --no-deps \
        --no-binary :all: --require-hashes -r "$pins" -d "$scratch/archive" "$@"
}
# pip asks the archive for its metadata, which needs setuptools: its own copy, or,
# where no copy can be downloaded, the one installed here.
if ! download 2>"$scratch/log"; then
    download --no-build-isolation 2>>"$scratch/log" || {
        sed 's/Retrying (Retry([^)]*))/Retrying/' "$scratch/log" | awk '!seen[$0]++' >&2
        fail "pip could not download the archive pinned in $pins"
    }
fi

mkdir "$scratch/hiredis"
tar -xzf "$scratch"/archive/hiredis-*.tar.gz -C "$scratch/hiredis" \
    --strip-components=3 --wildcards '*/vendor/hiredis/*' ||
    fail "the archive holds no vendor/hiredis folder"
for file in alloc.c async.c dict.c hiredis.c net.c read.c read.h sds.c sockcompat.c; do
    [ -f "$scratch/hiredis/$file" ] || fail "the archive lacks $file"
done
cp "$pins" "$scratch/hiredis/.fetched"

rm -rf "$dest"
mv "$scratch/hiredis" "$dest"
