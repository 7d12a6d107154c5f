#!/usr/bin/env bash
# check_foreign.sh <libshoal.a or libshoal.so> ...: every global name that they define is
# ours, so that a program may link another hiredis beside them.
set -euo pipefail
export LC_ALL=C

if [ $# -eq 0 ]; then
    echo "usage: $0 <libshoal.a or libshoal.so> ..." >&2
    exit 2
fi
failed=0
for library in "$@"; do
    options=(--extern-only --defined-only)
    case $library in
    *.a) ;;
    *) options+=(--dynamic) ;;
    esac
    names=$(nm "${options[@]}" "$library" 2>/dev/null | awk 'NF == 3 && $2 != "A" {print $3}')
    foreign=$(grep -v '^shoal_' <<<"$names" | sort -u) || true
    if [ -n "$foreign" ]; then
        echo "$library defines names that are not ours; those of hiredis belong into"
        echo "cmake/hiredis_names.txt:"
        echo "$foreign"
        failed=1
    else
        echo "$(basename "$library"): $(grep -c . <<<"$names") global names, all ours"
    fi
done
exit "$failed"
