#!/usr/bin/env bash
# check_abi.sh [--types | --update] <libshoal.so>: its exported functions are those that
# tests/abi/exported_symbols.txt lists.
#
#   --types   their types, too, are those of the stored dump, tests/abi/libshoal.abi (by
#             abidiff).  A function that is new is no change: the list has it.
#   --update  rewrites the list and the dump
#
# Exits with 77 if types cannot be compared: another processor, no debug information, or
# no abidiff (Debian: abigail-tools).
set -euo pipefail
export LC_ALL=C

what=symbols
case ${1:-} in
--types | --update)
    what=${1#--}
    shift
    ;;
esac
if [ $# -ne 1 ]; then
    echo "usage: $0 [--types | --update] <libshoal.so>" >&2
    exit 2
fi
library=$1
root=$(cd "$(dirname "$0")/.." && pwd)
list=$root/tests/abi/exported_symbols.txt
dump=$root/tests/abi/libshoal.abi

# The version node is an absolute symbol itself: not part of the list.
symbols() {
    nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort
}

advise() {
    echo "The ABI changed.  If that is meant: tools/check_abi.sh --update <libshoal.so>" >&2
    exit 1
}

check_symbols() {
    local found
    found=$(symbols)
    diff -u --label listed --label exported "$list" <(printf '%s\n' "$found") || advise
    echo "abi ok: $(wc -l <<<"$found") symbols"
}

# Without a place in the sources or a path of this machine: those are no part of the ABI.
comparable=(--suppressions "$root/tests/abi/private.suppr" --exported-interfaces-only)
write_dump() {
    abidw "${comparable[@]}" --type-id-style hash \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
        --out-file "$dump" "$library"
    sed -i "s|path='$root/|path='|" "$dump" # whoever builds elsewhere gets the same dump
}

check_types() {
    command -v abidiff >/dev/null || { echo "check_abi: no abidiff"; exit 77; }
    local elf rc=0
    elf=$(readelf -hSW "$library")
    if [[ $elf != *X86-64* || $elf != *.debug_info* ]]; then
        echo "check_abi: another processor, or no debug information"
        exit 77
    fi
    abidiff "${comparable[@]}" --no-added-syms --no-show-locs \
        "$dump" "$library" || rc=$?
    [ "$rc" = 0 ] || advise
    echo "abi ok: types"
}

case $what in
symbols) check_symbols ;;
types) check_types ;;
update)
    symbols >"$list"
    write_dump
    ;;
esac
