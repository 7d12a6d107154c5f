#!/usr/bin/env bash
# fetch_cmocka.sh <dest>: put the sources of the distribution's cmocka into <dest>, for tests
# with another C library than the system's.
#
# They come from the package archive that apt knows, which checks its signature.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <dest>" >&2
    exit 2
fi
dest=$1

fail() {
    echo "fetch_cmocka: $*" >&2
    exit 1
}

if [ -f "$dest/src/cmocka.c" ]; then
    exit 0
fi
command -v apt-get >/dev/null || fail "no apt-get; pass -DSHOAL_CMOCKA_SRC=<folder>"
mkdir -p "$(dirname "$dest")"
scratch=$(mktemp -d "$(cd "$(dirname "$dest")" && pwd)/cmocka.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Lists of its own: those of the system may lack sources, and are not ours to change.
mkdir -p "$scratch"/{lists,archives}/partial "$scratch/source"
apt-get indextargets --format "deb-src \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' | sort -u >"$scratch/sources.list"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$scratch/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$scratch/lists" \
        -o Dir::Cache="$scratch/archives" -o APT::Sandbox::User= "$@"
}

echo "-- Fetching cmocka"
{ apt update && cd "$scratch/source" && apt source --download-only cmocka; } \
    >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "apt-get could not fetch it"; }
tar -xf "$scratch"/source/cmocka_*.orig.tar.?z --strip-components=1 -C "$scratch/source"
[ -f "$scratch/source/src/cmocka.c" ] || fail "the archive lacks src/cmocka.c"
rm -rf "$dest"
mv "$scratch/source" "$dest"
