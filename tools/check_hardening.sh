#!/usr/bin/env bash
# check_hardening.sh <libshoal.so>: what the linker made of the hardening flags.
set -euo pipefail
export LC_ALL=C

if [ $# -ne 1 ]; then
    echo "usage: $0 <libshoal.so>" >&2
    exit 2
fi
segments=$(readelf -lW "$1")
dynamic=$(readelf -dW "$1")
imports=$(readelf --dyn-syms -W "$1" | awk '$7 == "UND" {print $8}')
failed=0

# require <what> <text> <regular expression>
require() {
    grep -qE -- "$3" <<<"$2" || { echo "missing: $1" >&2; failed=1; }
}

# refuse <what> <text> <regular expression>
refuse() {
    ! grep -qE -- "$3" <<<"$2" || { echo "present: $1" >&2; failed=1; }
}

require "RELRO: tables that are read-only once relocated" "$segments" '^ *GNU_RELRO '
require "BIND_NOW: symbols resolved at the start" "$dynamic" '\(FLAGS\).*BIND_NOW|\(BIND_NOW\)'
require "a stack that is declared" "$segments" '^ *GNU_STACK .* RW +0x'
refuse "an executable stack" "$segments" '^ *GNU_STACK .* RWE '
refuse "a segment both writable and executable" "$segments" '^ *LOAD .* RWE '
refuse "text relocations" "$dynamic" 'TEXTREL'
refuse "RPATH or RUNPATH" "$dynamic" '\((RPATH|RUNPATH)\)'
require "the stack protector" "$imports" '^__stack_chk_fail'
if grep -q '@GLIBC' <<<"$imports"; then # another C library may have no such functions
    require "fortified functions" "$imports" '^__(v?snprintf|mem[a-z]+|read|recv)_chk'
fi

[ "$failed" = 0 ] && echo "hardening ok"
exit "$failed"
