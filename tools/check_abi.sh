#!/usr/bin/env bash
# check_abi.sh [--update] <libshoal.so>: its exported functions are those that
# tests/abi/exported_symbols.txt lists.  --update rewrites the list.
set -euo pipefail
export LC_ALL=C

update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: $0 [--update] <libshoal.so>" >&2
    exit 2
fi
list=$(cd "$(dirname "$0")/.." && pwd)/tests/abi/exported_symbols.txt

# The version node is an absolute symbol itself: not part of the list.
symbols=$(nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)

if [ "$update" = yes ]; then
    printf '%s\n' "$symbols" >"$list"
elif ! diff -u --label listed --label exported "$list" <(printf '%s\n' "$symbols"); then
    echo "The ABI changed.  If that is meant: tools/check_abi.sh --update <libshoal.so>" >&2
    exit 1
else
    echo "abi ok: $(printf '%s\n' "$symbols" | wc -l) symbols"
fi
